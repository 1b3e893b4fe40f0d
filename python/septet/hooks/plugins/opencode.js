// Written by `septet hooks install opencode`, which replaces it; `septet hooks uninstall opencode` removes it.
import { spawn } from "node:child_process";

const COMMAND = [];
const MOST_MS = 10_000;

// Resolves to the text for the model, or to nothing: a hook that fails stops no session.
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

const textOf = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n");

export const SeptetHooks = async ({ client, directory }) => {
  const begun = new Set();
  const keep = async (event, sessionID) => {
    const { data } = await client.session.messages({ path: { id: sessionID } });
    const messages = (data ?? []).map(({ info, parts }) => ({
      role: info.role,
      timestamp: info.time?.created,
      text: textOf(parts),
    }));
    await septet({ hook_event_name: event, session_id: sessionID, cwd: directory, messages });
  };
  return {
    "chat.message": async (input, output) => {
      const { id, sessionID } = output.message;
      const first = !begun.has(sessionID);
      begun.add(sessionID);
      const text = await septet({
        hook_event_name: "chat.message",
        session_id: sessionID,
        cwd: directory,
        prompt: textOf(output.parts),
        first,
      });
      if (text) {
        const part = `prt_septet${Date.now().toString(16)}${Math.random().toString(16).slice(2, 10)}`;
        output.parts.push({ id: part, sessionID, messageID: id, type: "text", text, synthetic: true });
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      // After it the model no longer has what it was given.
      begun.delete(sessionID);
      await keep("experimental.session.compacting", sessionID).catch(() => {});
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await keep("session.idle", event.properties.sessionID).catch(() => {});
      }
    },
  };
};
