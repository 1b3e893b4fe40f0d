// Written by `septet hooks install openclaw`, which replaces it; `septet hooks uninstall openclaw` removes it.
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const COMMAND = [];
const MOST_MS = 10_000;

// Resolves to the text for the model, or to nothing: a hook that fails stops no run.
const septet = (input) =>
  new Promise((resolve) => {
    let output = "";
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    const timer = setTimeout(() => child.kill(), MOST_MS);
    child.on("error", () => resolve(undefined));
    child.on("close", () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(output).text);
      } catch {
        resolve(undefined);
      }
    });
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8").on("data", (part) => (output += part));
    child.stdin.end(JSON.stringify(input));
  });

// The transcript of a session, where the event does not name it.
const transcriptOf = (event, ctx) => {
  const state = process.env.OPENCLAW_STATE_DIR || join(homedir(), ".openclaw");
  const id = event.sessionId ?? ctx?.sessionId;
  return event.sessionFile ?? (id && join(state, "agents", ctx?.agentId ?? "main", "sessions", `${id}.jsonl`));
};

export default definePluginEntry({
  id: "septet-hooks",
  name: "Septet hooks",
  description: "Adds what a vault of Septet knows to prompts, and reads transcripts into it.",
  register(api) {
    const begun = new Set();
    api.on("before_prompt_build", async (event, ctx) => {
      const session = ctx?.sessionId ?? ctx?.sessionKey ?? "";
      const first = !begun.has(session);
      begun.add(session);
      const text = await septet({
        hook_event_name: "before_prompt_build",
        session_id: session,
        cwd: ctx?.workspaceDir,
        prompt: event.prompt,
        first,
      });
      return text ? { prependContext: text } : undefined;
    });
    for (const name of ["before_compaction", "before_reset", "session_end"]) {
      api.on(name, async (event, ctx) => {
        // After it the model no longer has what it was given.
        const session = ctx?.sessionId ?? ctx?.sessionKey ?? "";
        begun.delete(session);
        await septet({ hook_event_name: name, session_id: session, transcript_path: transcriptOf(event, ctx) });
      });
    }
  },
});
