/** `mcp-shell-server policy explain`: what would be decided about a command, without running it. */
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { grantedNames } from '../all-tools.ts';
import type { App } from '../app.ts';
import { attempt } from '../base/attempt.ts';
import { systemClock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { LOCAL_PRINCIPAL } from '../base/principals.ts';
import type { Settings } from '../base/settings.ts';
import { escapeJson, type Judgement } from '../security/security.ts';
import { isExpired, listTokens, type StoredToken } from '../security/tokens/tokens.ts';
import { type Grant, grantOf } from '../server/auth.ts';
import { leftByCalls } from './left-by-calls.ts';

/** The decision, the code, the rule, the reason, and every command that was found. */
export type Explained = Omit<Judgement, 'code' | 'ruleClass' | 'refused'> & {
  readonly command: string;
  readonly code?: string;
};

/** What of a call besides its command has a say. */
export interface ExplainOptions {
  /** Undefined: a principal without restrictions of its own. */
  readonly principal?: string | undefined;
  readonly directory?: string | undefined;
  /** The tool that is called, which may have rules of its own. */
  readonly tool?: string | undefined;
}

export type Explain = (command: string, options?: ExplainOptions) => Promise<Explained>;

interface Admitted {
  /** What its tokens grant. */
  readonly grants: readonly Grant[];
  readonly defaultDirectory: string;
}

/** The decision is the one of an execution, in a server of our own that runs nothing. */
export function createExplain(app: App, settings: Settings): Explain {
  const admitted = new Map<string, Admitted>();

  /** As its tokens and its calls have left it, in the servers that run now. */
  function admit(principal: string): Admitted {
    const known = admitted.get(principal);
    if (known !== undefined) return known;
    const tokens = tokensOf(principal, settings.stateDir);
    app.admit(principal, tokens[0]?.preset);
    const { tightened, defaultDirectory = settings.defaultWorkdir } = leftByCalls(
      principal,
      settings.stateDir,
    );
    for (const wish of tightened) app.retighten(principal, wish);
    const found = { grants: tokens.map((token) => grantOf(token, grantedNames)), defaultDirectory };
    admitted.set(principal, found);
    return found;
  }

  return async (command, { principal, directory, tool } = {}) => {
    try {
      const { grants, defaultDirectory } =
        principal === undefined
          ? { grants: [], defaultDirectory: settings.defaultWorkdir }
          : admit(principal);
      const judgement = await app.explain({
        principal: principal ?? LOCAL_PRINCIPAL,
        grants,
        command,
        tool,
        workingDirectory: directory,
        defaultDirectory,
        callerEnvironment: {},
        sessionEnvironment: new Map(),
      });
      if (judgement !== undefined) return describeJudgement(command, judgement);
      throw new ShellServerError('PARAM_002', 'command is empty.');
    } catch (error) {
      if (!(error instanceof ShellServerError)) throw error;
      return describeDenial(command, error);
    }
  };
}

const tokensOf = (principal: string, stateDirectory: string): StoredToken[] =>
  listTokens(stateDirectory).filter(
    (token) => token.principal === principal && !isExpired(token, systemClock.now()),
  );

function describeJudgement(command: string, judgement: Judgement): Explained {
  const { ruleClass: _, refused: __, ...rest } = judgement;
  return { command, ...rest };
}

/** Refused before it was judged: its text, its directory, or the lack of a sandbox. */
function describeDenial(command: string, { code, message, hint, details }: ShellServerError): Explained {
  const rule = typeof details?.['rule'] === 'string' ? details['rule'] : RULES[code];
  return {
    command,
    decision: 'deny',
    code,
    rule: rule ?? code,
    reason: message,
    hint,
    commands: [],
    unknowns: [],
  };
}

const RULES: Readonly<Record<string, string>> = {
  SECURITY_002: 'directory',
  PARAM_002: 'parameter',
  AUTH_003: 'token',
};

export function renderExplained(explained: Explained): string {
  const { decision, code, rule, reason, part, hint, commands, unknowns } = explained;
  const lines = [
    `${decision.toUpperCase()}${code === undefined ? '' : ` (${code})`}: ${reason}`,
    `rule: ${rule}`,
    ...(part === undefined ? [] : [`part: ${part}`]),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
    'commands found:',
    ...commands.map(
      ({ text, foundIn, unknown }) =>
        `  ${text}${foundIn.length === 0 ? '' : `   (in ${foundIn.join(' > ')})`}${unknown === undefined ? '' : `   ? ${unknown}`}`,
    ),
    ...unknowns.map(({ reason: why, part: where }) => `cannot be known: ${why}: ${where}`),
  ];
  return `${lines.join('\n')}\n`;
}

const lineSchema = z.object({
  command: z.string(),
  principal: z.string().min(1).optional(),
  working_directory: z.string().min(1).optional(),
  tool: z.string().optional(),
});

/** One line of JSON for each line of JSON; a line that cannot be read is answered with an error. */
export async function* explainLines(
  input: NodeJS.ReadableStream,
  explain: Explain,
  options: ExplainOptions = {},
): AsyncGenerator<string> {
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    yield `${escapeJson(JSON.stringify(await answerTo(line, explain, options)))}\n`;
  }
}

async function answerTo(line: string, explain: Explain, options: ExplainOptions): Promise<unknown> {
  const read = attempt(() => lineSchema.parse(JSON.parse(line)));
  if (read === undefined) return { error: 'each line must be a JSON object with a string "command"' };
  const { command, principal, working_directory: directory, tool } = read;
  return explain(command, {
    principal: principal ?? options.principal,
    directory: directory ?? options.directory,
    tool: tool ?? options.tool,
  });
}
