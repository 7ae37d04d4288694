/** Whether a program was refused memory by the limit of each process, read from what it printed: the kernel does not report it. */
import { OWN_MEMORY_LIMIT, REFUSED_MEMORY } from './patterns.ts';

const MIB = 1024 * 1024;

export function explainMemory(text: string, dataLimitBytes: number | undefined): string | undefined {
  if (dataLimitBytes === undefined || OWN_MEMORY_LIMIT.test(text) || !REFUSED_MEMORY.test(text))
    return undefined;
  return `Each process is limited to ${Math.round(dataLimitBytes / MIB)} MiB of private memory, four times security.max_memory_mb and at least 4096 MiB; the operator can change that setting. If the program only reserves more than it uses (AddressSanitizer, Java), run \`ulimit -S -d unlimited\` before it in the same command.`;
}
