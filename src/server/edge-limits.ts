/**
 * The numbers of the MCP edge that no operator changes, with their reasons. What other folders bound too is in
 * base/limits.ts.
 */
const MIB = 1024 * 1024;

export const EDGE_LIMITS = {
  /** Messages in one JSON-RPC batch; the SDK's HTTP transport draws the line at the same number. */
  batchMessages: 100,
  /** Problems named in one parameter error: enough to repair a call, few enough to read. */
  parameterIssues: 20,
  /** Of a name or value that a caller typed and an error quotes. */
  quotedCharacters: 80,
  /** A client's own name and version, which go into logs. */
  clientNameCharacters: 100,
  /** How long a client may take the list of tools for fresh; it changes only with a restart. */
  toolsTtlMs: 300_000,

  /** Answers that wait for a client which does not read: above this its requests are not read either. */
  outputHighBytes: 32 * MIB,
  /** After the client of a handshake is gone: for answers that are ready, such as that to `initialize`. */
  departureMs: 1000,

  /** Sessions of 2025-era HTTP clients; the one idle longest makes room. */
  httpSessions: 256,
  /** Connections at once; a session needs two (its standing stream and a request). */
  httpConnections: 1024,
  /** Events kept for resuming, over all sessions: a few large answers. */
  eventBytes: 16 * MIB,
  events: 4096,
  /** Streams that a session can resume; each is one POST, so older ones were answered long ago. */
  sessionStreams: 1000,
  /** A dropped connection of a 2025-era client may come back within this time before its calls are cancelled. */
  resumeWindowMs: 30_000,
  /** Slow senders: the headers, then the whole request. An answer may take as long as it likes. */
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  /** Longer than what clients and proxies keep a connection for, so that it is they who close it. */
  keepAliveTimeoutMs: 75_000,
  /** After a refusal: for the rest of the body, so that the sender reads the answer and not a reset connection. */
  refusedBodyMs: 5000,
  /** Within the 5 s of a shutdown: from no longer listening to cutting what is still open. */
  httpDrainMs: 1000,
} as const;
