/**
 * The resolved settings: what the rest of the server reads. How they are typed in (flags, environment, TOML) is
 * base/config's business.
 */
export interface Settings {
  readonly defaultWorkdir: string;
  readonly tools: readonly string[];
  /** The shell for commands and terminals, as the operator named it; undefined: $SHELL, else /bin/bash. */
  readonly shell: string | undefined;
  readonly stateDir: string;
  readonly verbose: boolean;
  readonly security: {
    /** Absolute, existing or not; undefined: not restricted. */
    readonly allowedDirectories: readonly string[] | undefined;
    readonly maxExecutionTimeSeconds: number | undefined;
    readonly maxMemoryBytes: number | undefined;
  };
  readonly limits: {
    readonly maxProcesses: number;
    readonly maxOutputBytes: number;
    readonly inlineOutputBytes: number;
    /** undefined: chosen by the client's name. */
    readonly maxWaitSeconds: number | undefined;
  };
  readonly retention: {
    readonly maxAgeHours: number;
    readonly maxTotalBytes: number;
    readonly maxCount: number;
  };
  readonly http: {
    readonly host: string;
    readonly port: number;
  };
  /** The environment the server itself was started with; commands get it filtered. Nobody else reads process.env. */
  readonly environment: Readonly<Record<string, string>>;
}
