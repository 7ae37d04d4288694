/**
 * Bounds that several files use, that are defaults of settings, or that tests replace, each with its reason. A bound with
 * one use stands beside it.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

export const LIMITS = {
  /** One argv string may have 128 KiB (Linux MAX_ARG_STRLEN); the shell's own words need some of it. */
  commandBytes: 120 * KIB,
  /** Given to stdin; larger data belongs in a file that the command reads. */
  inputDataBytes: 10 * MIB,
  /** execve has 2 MiB for arguments and environment together on the usual 8 MiB stack. */
  environmentBytes: 512 * KIB,
  environmentEntries: 1000,

  /** A line on stdio: twice what input_data may have, since JSON escapes can double it. */
  stdioLineBytes: 24 * MIB,
  /** A body over HTTP, for the same reason. */
  httpBodyBytes: 24 * MIB,
  /** An answer as JSON: clients that use the SDK close at a line of more than 10 MiB. The envelope and news come on top. */
  answerBytes: 8 * MIB,
  /** JSON deeper than this is nobody's request, and recursive readers overflow on it. */
  jsonDepth: 64,

  /** Kept of a stream on disk. */
  outputBytes: 100 * MIB,
  /** Kept of the end of a stream that passed its limit: enough for a build's last errors. */
  outputTailBytes: 256 * KIB,
  /** Over both streams in one answer: clients cut at 12 to 50 thousand characters, and context is dear. */
  inlineOutputBytes: 10 * KIB,
  /** Of one stream, however much a caller asks for: the rest is read with read_execution_output. */
  inlineOutputBytesMax: 1 * MIB,
  maxOutputSizeMin: 1 * KIB,
  maxOutputSizeMax: 100 * MIB,
  maxOutputSizeDefault: 1 * MIB,
  /** Kept in memory of a tail that a full disk refused: enough to see how a command ended. */
  unsavedTailBytes: 4 * KIB,
  /** One arrival entry is 7 bytes; towards this many the order of `combined` gets coarser, not the file larger. */
  arrivalEntries: 200_000,
  /** What an output is called in lists; the whole command is in the execution's record. */
  outputNameLength: 200,
  /** read_execution_output */
  readBytesDefault: 8192,
  readBytesMax: 1 * MIB,
  readLinesDefault: 100,
  /** Of the text that one read by lines gives back. */
  readLinesBytes: 32 * KIB,
  readLinesMax: 10_000,
  searchMatches: 200,
  searchContextLines: 20,
  /** What a search may show at once: 200 matches of ordinary length, or fewer with much context. */
  searchResultBytes: 64 * KIB,
  /** A pattern is compiled to an automaton whose size grows with its length and its repetitions. */
  patternLength: 1000,
  /** `x{1,1000}` has 2,000; each character of the text may cost as many steps. */
  patternInstructions: 2500,
  /** Steps of the automaton in one go: about 0.1 s (50 million a second, measured). */
  patternSteps: 5_000_000,
  /** Filtering a list by a pattern holds the event loop, so that it gives up early. */
  filterMs: 1000,
  /** A search gives up after this long and says where to go on, so that one call cannot hold the server. */
  searchMs: 5000,
  /** Read at once while searching or counting lines. */
  scanChunkBytes: 256 * KIB,
  /** How long a scan may hold the event loop before others get a turn. */
  scanTurnMs: 10,
  /** The thread that searches: for its own data, of which a table of states is the largest. */
  searchThreadMib: 128,
  /** Without a search for so long it ends: an idle one takes some megabytes, and starts in a twentieth of a second. */
  searchThreadIdleMs: 10_000,
  /** Its turns are of some milliseconds; one that takes so long will not come back. */
  searchThreadAnswerMs: 10_000,
  /** A longer line is searched in pieces, so that a file without line ends is never held whole. */
  searchPieceBytes: 1 * MIB,
  /** Above this a checksum of binary data costs more time than it is worth in an answer. */
  checksumBytes: 16 * MIB,
  /** A line longer than this is cut in lists of lines and matches. */
  lineBytes: 4 * KIB,

  /** For each principal. */
  processes: 50,
  /** Over all principals: four that use all they have. */
  processesTotal: 200,
  /** For each principal. */
  terminals: 20,
  terminalsTotal: 80,
  /** Time to start the server again, or the machine's editor with it. */
  terminalGraceSeconds: 600,
  terminalWidth: 500,
  terminalHeight: 300,
  terminalLinesDefault: 100,
  terminalLinesMax: 10_000,
  /** A person pastes less; more belongs in a file. */
  terminalInputBytes: 1 * MIB,
  terminalWaitSecondsDefault: 30,
  terminalWaitSecondsMax: 300,
  /** Monitors of a principal, those that ended included: each costs a few files at each look. */
  monitors: 20,
  /** Samples that wait to be read: an hour of minutes, a minute of seconds, and not too much for an answer. */
  monitorSamples: 60,
  timeoutSecondsDefault: 30,
  timeoutSecondsMax: 3600,
  /** Of the tool `shell`: five minutes, and half an hour at most. */
  shellToolSecondsDefault: 300,
  shellToolSecondsMax: 1800,
  foregroundTimeoutSecondsDefault: 10,
  foregroundTimeoutSecondsMax: 300,
  /** No client extends its own limit on progress, and Claude Desktop's is about 60 s. */
  maxWaitSeconds: 45,
  /** setTimeout wraps around above 2^31-1 ms. */
  timerMs: 2 ** 31 - 1,
  /** From TERM to KILL: long enough for a trap to clean up, short enough for a shutdown within 5 s. */
  killGraceMs: 1000,
  /** After KILL: how long to look for what is still there before it is called a survivor. */
  killSettleMs: 1500,
  /** Progress notifications: enough to look live, few enough not to flood a client's log. */
  progressIntervalMs: 200,
  progressMessageBytes: 1 * KIB,
  /** The login shell is asked for its PATH once, and the first command does not wait longer than this for it. */
  loginPathWaitMs: 1000,
  /** Longer where commands can write to the home directory: until it is known, so are the programs that it names. */
  loginPathInHomeWaitMs: 3000,
  /** Some clients connect only to ask what there is, and are gone by then. */
  anticipationMs: 250,
  /** A sandbox takes some milliseconds. It is tried three times at most, all of it before a client's own 60 s are over. */
  sandboxSetupMs: 15_000,
  /** Pipes are made in batches, for some executions; what forks has them open until they are used. */
  pipeBatch: 24,

  /** Retention: a week, and 2 GiB; the count bounds the index in memory. */
  retentionHours: 168,
  retentionTotalBytes: 2048 * MIB,
  retentionCount: 10_000,

  /** A file of the audit log: small enough to be copied and opened, large enough that a busy day has few. */
  auditFileBytes: 64 * MIB,
  /** Characters in a line of the audit log: a whole command, and as much again about it. */
  auditLineChars: 256 * KIB,
  /** Of one text in it: more than a command may have. */
  auditTextChars: 128 * KIB,
  /** Of a list in it: as many outputs as can be deleted at once. */
  auditListItems: 1000,
  /** Other logs of which a new one notes the last line; with each it reads one end of a file. */
  auditHeads: 100,

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

  /** How long a person has to agree to a command: time to read it, and to come back from a coffee. */
  approvalSeconds: 600,
  /** How long the operator has to type a password; ssh servers wait about as long. */
  secretSeconds: 120,
  /** Passwords that one execution can ask for: enough for a few hosts with a few attempts each. */
  secretsPerExecution: 12,
  /** Programs that ask for a password at the same time, over all executions. */
  openSecrets: 64,
  /** Of the text that a program asks with. */
  secretPromptCharacters: 400,
  /** Of a password or passphrase. */
  secretBytes: 4096,
  /** Questions of a principal that wait for an answer; the oldest is forgotten, which means no. */
  openQuestions: 1000,
  /** In one call, where what was agreed to has changed by the time of the answer. */
  questionsPerCall: 3,

  /** Answers that wait for a client which does not read: above this its requests are not read either. */
  outputHighBytes: 32 * MIB,
  /** After the client of a handshake is gone: for answers that are ready, such as that to `initialize`. */
  departureMs: 1000,

  /** Sessions of 2025-era HTTP clients, some 30 KiB each; the one idle longest makes room. */
  httpSessions: 1000,
  /** Connections at once; a session needs two (its standing stream and a request). */
  httpConnections: 2048,
  /** Of the listener for health and metrics: a few probes and scrapers. */
  operationConnections: 50,
  /** Requests and standing streams of one principal: half of what there is, so that others get in. */
  principalRequests: 1024,
  /** Bodies of the open requests of one principal, together: a few of the largest there can be. */
  principalBodyBytes: 96 * MIB,
  /** Calls of one principal that are read for at once; an answer has up to a megabyte in each of its two views. */
  readsAtOnce: 4,
  /** Of answers that one principal has not taken yet: above this nothing more is begun for it. */
  unreadBytes: 32 * MIB,
  /** How often that is looked at again. */
  unreadLookMs: 50,
  /** Events kept for resuming, over all sessions: a few large answers. */
  eventBytes: 16 * MIB,
  events: 4096,
  /** Streams that a session can resume; each is one POST, so older ones were answered long ago. */
  sessionStreams: 1000,
  /** A dropped connection of a 2025-era client may come back within this time before its calls are cancelled. */
  resumeWindowMs: 30_000,
  /** What such a client is told to wait before it comes back: enough for a network that flickers. */
  retryMs: 1000,
  /** Slow senders: for the headers, and four times as long for the request. An answer may take as long as it likes. */
  headersTimeoutMs: 60_000,
  /** Longer than what clients and proxies keep a connection for, so that it is they who close it. */
  keepAliveTimeoutMs: 75_000,
  /** Of a request: Node's own default, which no client of ours comes near. */
  httpHeaderBytes: 16 * KIB,
  /** After so long without a byte TCP asks whether the peer is still there. */
  tcpKeepAliveMs: 30_000,
  /** A peer that takes nothing of what waits for it is dropped after so long. */
  stalledMs: 60_000,
  /** How often the files of the certificate are looked at. */
  tlsCheckMs: 60_000,
  /** Denied requests of one kind in a minute that get a line of their own. */
  deniedRequestLines: 30,
  deniedRequestsMs: 60_000,
  /** After a refusal: for the rest of the body, so that the sender reads the answer and not a reset connection. */
  refusedBodyMs: 5000,
  /** Within the 5 s of a shutdown: for calls that are about to be answered, before what they wait for is ended. */
  drainMs: 1000,
  /** Then for the answers that say so to get out. */
  lastAnswersMs: 500,
  /** From no longer listening to cutting what is still open. */
  httpCloseMs: 1000,
} as const;

export type Limits = Readonly<Record<keyof typeof LIMITS, number>>;
