/**
 * The resolved settings: what the rest of the server reads. How they are typed in (flags, environment, TOML) is
 * base/config's business.
 */
import type { CommandEntry } from './config/kinds.ts';
import type { EnvironmentMode, PolicyMode, Preset, PresetName, SandboxMode } from './config/presets.ts';

/** The preset with what was set instead of it. */
export interface SecuritySettings
  extends Omit<Preset, 'mode' | 'sandbox' | 'network' | 'environment' | 'maxMemoryBytes' | 'maxPids'> {
  readonly preset: PresetName;
  /** undefined: as the preset says. */
  readonly mode: PolicyMode | undefined;
  readonly allowedCommands: readonly CommandEntry[] | undefined;
  readonly blockedCommands: readonly CommandEntry[];
  readonly askCommands: readonly CommandEntry[];
  readonly allowedArguments: Readonly<Record<string, readonly string[]>> | undefined;
  /** The two lists are added to the built-in one rather than taking its place. */
  readonly extendsAllowed: boolean;
  /** undefined: with a list of the operator's own. */
  readonly allowWrites: boolean | undefined;
  readonly sandbox: SandboxMode;
  readonly network: boolean;
  /** Empty: all, where there is a network. */
  readonly allowedDomains: readonly string[];
  readonly environment: EnvironmentMode;
  readonly allowedEnvironment: readonly string[];
  readonly masksOutput: boolean;
  /** Programs of a command can ask the operator for a password. */
  readonly asksSecrets: boolean;
  /** Absolute, existing or not; undefined: not restricted. */
  readonly allowedDirectories: readonly string[] | undefined;
  /** What commands can write to: fixed when the server starts, whatever a caller says later. */
  readonly workspace: readonly string[];
  readonly readablePaths: readonly string[];
  readonly writablePaths: readonly string[];
  readonly expose: readonly string[];
  readonly maxMemoryBytes: number | undefined;
  readonly maxPids: number | undefined;
  readonly maxCpuPercent: number | undefined;
  readonly maxCpuSeconds: number | undefined;
}

/** Of the tool `shell` alone. */
export interface ShellToolSettings {
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly allowedDirectories: readonly string[] | undefined;
  readonly maxOutputBytes: number;
  readonly blockedCommands: readonly CommandEntry[];
  readonly logsCommands: boolean;
  /** Written when a command fails; relative to the command's directory. */
  readonly abortFile: string | undefined;
}

export interface Settings {
  readonly defaultWorkdir: string;
  readonly tools: readonly string[];
  /** What clients are answered with; auto: text alone where a client would show a model the structured part alone. */
  readonly answers: 'auto' | 'text' | 'both';
  /** The shell for commands and terminals, as the operator named it; undefined: $SHELL, else /bin/bash. */
  readonly shell: string | undefined;
  readonly stateDir: string;
  /** The operator's settings files that were read: no command may see or change them. */
  readonly files: readonly string[];
  readonly verbose: boolean;
  readonly security: SecuritySettings;
  readonly limits: {
    /** Of one principal. */
    readonly maxProcesses: number;
    readonly maxTerminals: number;
    /** Of all together. */
    readonly maxProcessesTotal: number;
    readonly maxTerminalsTotal: number;
    readonly terminalGraceMs: number;
    readonly maxOutputBytes: number;
    readonly inlineOutputBytes: number;
    /** undefined: chosen by the client's name. */
    readonly maxWaitSeconds: number | undefined;
    /** Of a command of `shell_exec` and `shell/exec`. */
    readonly shellExecSeconds: number;
  };
  readonly shellTool: ShellToolSettings;
  readonly retention: {
    readonly maxAgeHours: number;
    readonly maxTotalBytes: number;
    readonly maxCount: number;
  };
  readonly audit: {
    /** Each line is on the disk before anything follows from it. */
    readonly syncs: boolean;
    readonly maxFileBytes: number;
  };
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** How clients reach it, where that is not its own address. */
    readonly publicUrl: string | undefined;
    /** Files in PEM; undefined: plain HTTP. */
    readonly tls: { readonly cert: string; readonly key: string } | undefined;
    /** Serves the operator's page below `/ui`. */
    readonly hasPage: boolean;
    /** Where the server tells how it is; without a port nowhere. */
    readonly metrics: { readonly host: string; readonly port: number | undefined };
  };
  /** The environment the server itself was started with; commands get it filtered. Nobody else reads process.env. */
  readonly environment: Readonly<Record<string, string>>;
}
