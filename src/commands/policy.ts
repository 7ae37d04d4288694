/** `mcp-shell-server policy explain`: what the policy would say about a command, without running it. */
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { realPathOf } from '../base/config/paths.ts';
import type { Settings } from '../base/settings.ts';
import { ownProcesses } from '../executions/executions.ts';
import { createRestrictions, type Judgement } from '../security/security.ts';

/** As SPEC names the fields: the decision, the code, the rule, the reason, and every command that was found. */
export interface Explained {
  readonly command: string;
  readonly decision: Judgement['decision'];
  readonly code?: string;
  readonly rule: string;
  readonly reason: string;
  readonly part?: string;
  readonly hint?: string;
  readonly commands: Judgement['commands'];
  readonly unknowns: Judgement['unknowns'];
}

export function createExplain(settings: Settings): (command: string) => Explained {
  const { policy } = createRestrictions(settings.security).of('local');
  return (command) => {
    const judgement = policy.judge(command, {
      directory: realPathOf(settings.defaultWorkdir),
      home: homedir(),
      realPath: realPathOf,
      protectedProcesses: ownProcesses(),
    });
    const { decision, code, rule, reason, part, hint, commands, unknowns } = judgement;
    return {
      command,
      decision,
      ...(code !== undefined && { code }),
      rule,
      reason,
      ...(part !== undefined && { part }),
      ...(hint !== undefined && { hint }),
      commands,
      unknowns,
    };
  };
}

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

const lineSchema = z.object({ command: z.string() });

/** One line of JSON for each line of JSON; a line that cannot be read is answered with an error. */
export async function* explainLines(
  input: NodeJS.ReadableStream,
  explain: (command: string) => Explained,
): AsyncGenerator<string> {
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    yield `${JSON.stringify(answerTo(line, explain))}\n`;
  }
}

function answerTo(line: string, explain: (command: string) => Explained): unknown {
  try {
    return explain(lineSchema.parse(JSON.parse(line)).command);
  } catch {
    return { error: 'each line must be a JSON object with a string "command"' };
  }
}
