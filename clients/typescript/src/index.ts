export * from "./answers.js";
export * from "./errors.js";
export * from "./requests.js";
export { Routes as Client } from "./routes.js";
export type { CallOptions, ClientOptions } from "./transport.js";
