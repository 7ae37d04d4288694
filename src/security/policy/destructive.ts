/**
 * Commands that destroy a machine, refused in every mode: few, and none that anybody needs in daily work. Guesses count,
 * since a variable does not make `rm -rf /` harmless.
 */
import { posix } from 'node:path';
import { compilePattern } from '../../base/pattern.ts';
import type { Findings, Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { findForkBomb } from './fork-bomb.ts';
import type { Denial, JudgeContext } from './policy-types.ts';
import {
  CODE_PROGRAMS,
  DISK_WRITERS,
  GUESSED_NAMES,
  NARROWING,
  POWER,
  POWER_HARMLESS,
  RAW_DEVICE,
  SYSTEM_DIRECTORY,
  SYSTEMCTL_POWER,
} from './tables/destructive-rules.ts';

export function findDestructive(
  findings: Findings,
  context: JudgeContext,
): Pick<Denial, 'rule' | 'part'> | undefined {
  for (const { kind, target, text } of findings.redirections) {
    const device =
      kind === 'write' ? target.guesses.find((path) => RAW_DEVICE.test(posix.normalize(path))) : undefined;
    if (device !== undefined) return { rule: `write to ${device}`, part: text };
  }
  for (const invocation of findings.invocations) {
    const rule = judgeInvocation(invocation, context);
    if (rule !== undefined) return { rule, part: invocation.text };
  }
  const bomb = findForkBomb(findings);
  return bomb === undefined ? undefined : { rule: 'fork bomb', part: bomb };
}

function judgeInvocation(invocation: Invocation, context: JudgeContext): string | undefined {
  const words = invocation.args.map(({ value, guesses }) => value ?? guesses[0]);
  const own = words[0];
  if (own === undefined || invocation.isFunction) return undefined;
  const names = /[*?[]/.test(own) ? globbedNames(own) : [baseName(own).toLowerCase()];
  const rest = words.slice(1).filter((word) => word !== undefined);
  for (const name of names) {
    const rule = judgeWords(name, rest, invocation, context);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

/** `/bin/r?` may be rm; a bare `*` may be anything and is no guess. */
function globbedNames(pattern: string): string[] {
  const source = baseName(pattern)
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  if (!/[a-z]/.test(source)) return [];
  try {
    const regex = compilePattern('command', `^${source}$`);
    return GUESSED_NAMES.filter((name) => regex.test(name));
  } catch {
    return [];
  }
}

function judgeWords(
  name: string,
  words: readonly string[],
  invocation: Invocation,
  context: JudgeContext,
): string | undefined {
  const { options, operands } = split(words);
  const isVital = (path: string): boolean => isVitalPath(path, invocation, context);
  const recursive = options.some((option) => /^-\w*[rR]|^--rec/.test(option));
  if (name === 'rm') {
    if (options.some((option) => option.startsWith('--no-p'))) return 'rm --no-preserve-root';
    const vital = recursive ? operands.find(isVital) : undefined;
    return vital === undefined ? undefined : `rm of ${vital}`;
  }
  if (name === 'chmod' || name === 'chown' || name === 'chgrp') {
    const target = operands
      .slice(1)
      .find((path) => (recursive ? isVital(path) && !isHome(path, context) : /^\/+(?:\.\/*)*$/.test(path)));
    return target === undefined ? undefined : `${name} of ${target}`;
  }
  if (name === 'mv') {
    const source = operands.slice(0, -1).find(isVital);
    if (source !== undefined) return `mv of ${source}`;
  }
  if (name === 'rsync' && options.some((option) => option.startsWith('--del'))) {
    const target = operands.at(-1);
    return target !== undefined && isVital(target) ? `rsync --delete to ${target}` : undefined;
  }
  if (name === 'find' || name === 'gfind') return judgeFind(words, isVital);
  if (/^mkfs(?:\.|$)/.test(name) || DISK_WRITERS.has(name)) return judgeDisk(name, options, operands);
  if (POWER.has(name))
    return words.length > 0 && words.every((word) => POWER_HARMLESS.test(word)) ? undefined : name;
  if (name === 'init' && /^[06]$/.test(operands[0] ?? '')) return `init ${operands[0]}`;
  if (name === 'systemctl' && SYSTEMCTL_POWER.test(operands[0] ?? '')) return `systemctl ${operands[0]}`;
  if (name === 'kill' || name === 'pkill' || name === 'killall' || name === 'killall5' || name === 'skill')
    return judgeKill(name, words, invocation, context);
  if (CODE_PROGRAMS.test(name)) return judgeCode(name, words);
  return undefined;
}

function split(words: readonly string[]): { options: string[]; operands: string[] } {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  const isOption = (word: string): boolean => word.length > 1 && word.startsWith('-');
  return {
    options: before.filter(isOption),
    operands: [...before.filter((word) => !isOption(word)), ...(end === -1 ? [] : words.slice(end + 1))],
  };
}

/** The root, the home directory, a directory of the system, or everything in one of them. */
function isVitalPath(typed: string, { cwds }: Invocation, context: JudgeContext): boolean {
  if (typed === '') return false;
  const places = typed.startsWith('/') ? [''] : cwds.filter((place) => place !== null);
  return places.some((place) => isVitalPlace(`${place}/${typed}`, context));
}

function isVitalPlace(whole: string, context: JudgeContext): boolean {
  const path = posix
    .normalize(whole.replace(/(?:\/(?:\*+|\.\*|\{[^/]*\}|\.\[\^?\.?\]\*|\.\?\?\*|\.{1,2}\?\*))+\/*$/, '/'))
    .replace(/(.)\/$/, '$1');
  const isAll = path !== posix.normalize(whole).replace(/(.)\/$/, '$1');
  if (path === '/' || isHome(path, context)) return true;
  // `rm -rf /opt/*` cleans up a directory that exists for that; `rm -rf /opt` is as bad as it looks.
  return SYSTEM_DIRECTORY.test(path) && !(isAll && /^\/(?:opt|srv|mnt|media|run|usr\/local)$/.test(path));
}

function isHome(path: string, { home }: JudgeContext): boolean {
  const plain = posix.normalize(path).replace(/(.)\/$/, '$1');
  return plain === home || plain === '/root';
}

function judgeFind(words: readonly string[], isVital: (path: string) => boolean): string | undefined {
  const end = words.findIndex((word) => /^[-(!]/.test(word) && !/^-[HLPDO]/.test(word));
  const starts = (end === -1 ? words : words.slice(0, end)).filter((word) => !word.startsWith('-'));
  const vital = starts.find(isVital);
  if (vital === undefined || words.some((word) => NARROWING.test(word))) return undefined;
  const deletes =
    words.includes('-delete') ||
    words.some(
      (word, index) =>
        /^-(?:exec|ok)(?:dir)?$/.test(word) && /^(?:.*\/)?(?:rm|shred|unlink)$/.test(words[index + 1] ?? ''),
    );
  return deletes ? `find ${vital} that deletes` : undefined;
}

function judgeDisk(
  name: string,
  options: readonly string[],
  operands: readonly string[],
): string | undefined {
  const isReading =
    options.some((option) =>
      /^(?:-l|--list|-s|-n|--no-act|--dry-run|-p|--print|--help|--version|-I|-i|-x)$/.test(option),
    ) && /^(?:fdisk|sfdisk|sgdisk|parted|wipefs|hdparm|badblocks)$/.test(name);
  if (
    isReading ||
    (name === 'hdparm' &&
      !options.some((option) => /security|--trim|--fwdownload|--write|--make-bad/.test(option)))
  )
    return undefined;
  if (name === 'parted' && operands.every((word) => word.startsWith('/') || word === 'print'))
    return undefined;
  if (/^(?:cryptsetup|zpool|mdadm|nvme|diskutil)$/.test(name)) {
    const verb = [...operands, ...options].find((word) =>
      /^(?:luksFormat|erase|luksErase|destroy|labelclear|format|sanitize|--zero-superblock|eraseDisk|eraseVolume|secureErase|zeroDisk|reformat)$/.test(
        word,
      ),
    );
    return verb === undefined ? undefined : `${name} ${verb}`;
  }
  const targets =
    name === 'dd' || name === 'dcfldd'
      ? operands.filter((word) => word.startsWith('of=')).map((word) => word.slice(3))
      : name === 'cp' || name === 'mv' || name === 'install' || name === 'ddrescue'
        ? operands.slice(-1)
        : operands;
  const device = targets
    .map((path) => posix.normalize(path))
    .find(
      (path) =>
        RAW_DEVICE.test(path) ||
        (/^(?:mkfs|mke2fs|mkswap|wipefs|blkdiscard|newfs)/.test(name) && path.startsWith('/dev/')),
    );
  return device === undefined ? undefined : `${name} on ${device}`;
}

/** Ending the server or its client ends the conversation; ending everything ends the machine. */
function judgeKill(
  name: string,
  words: readonly string[],
  { fedBy }: Invocation,
  { protectedProcesses = [] }: JudgeContext,
): string | undefined {
  if (name === 'killall5') return name;
  const meets = (pattern: string, isFull: boolean, isExact: boolean): boolean =>
    protectedProcesses.some((process) => {
      if (isExact) return process.name === pattern;
      const text = isFull ? (process.commandLine ?? process.name) : process.name;
      return matches(pattern, text);
    });
  if (name === 'kill') {
    if (words.some((word) => /^-(?:l|L)$|^--list/.test(word))) return undefined;
    const signalled = words.filter(
      (word, index) =>
        /^-?\d+$|^\$PPID$/.test(word) &&
        !(index === 0 && /^-\d+$/.test(word) && words.length > 1) &&
        words[index - 1] !== '-s' &&
        words[index - 1] !== '-n',
    );
    if (signalled.includes('$PPID')) return 'kill of the server';
    if (signalled.includes('-1') || signalled.includes('1'))
      return `kill ${signalled.includes('-1') ? '-1' : '1'}`;
    const pid = protectedProcesses.find((process) =>
      signalled.some((word) => Math.abs(Number(word)) === process.pid),
    );
    if (pid !== undefined) return `kill of ${pid.name}`;
    const asked = fedBy.find(
      (feeding) => /^(?:pgrep|pidof)$/.test(feeding.args[0]?.value ?? '') && hitsAsked(feeding, meets),
    );
    return asked === undefined ? undefined : 'kill of the server or its client';
  }
  const { options, operands } = split(words);
  if (words.some((word) => /^-\w*u$|^--uid|^--euid|^-U$/.test(word)) && operands.length <= 1)
    return `${name} of all processes of a user`;
  const isFull = options.some((option) => /^-[a-zA-Z]*f|^--full/.test(option));
  const isExact =
    name === 'killall'
      ? !options.some((option) => /^-\w*r|^--regexp/.test(option))
      : options.some((option) => /^-\w*x|^--exact/.test(option));
  const hit = operands.find((pattern) => meets(pattern, isFull, isExact && !isFull));
  return hit === undefined ? undefined : `${name} ${hit}, which is also the server or its client`;
}

function hitsAsked(
  { args }: Invocation,
  meets: (pattern: string, isFull: boolean, isExact: boolean) => boolean,
): boolean {
  const { options, operands } = split(args.slice(1).map(({ value }) => value ?? ''));
  const isExact = args[0]?.value === 'pidof';
  const isFull = options.some((option) => /^-\w*f/.test(option));
  return operands.some((pattern) => meets(pattern, isFull, isExact));
}

function matches(pattern: string, text: string): boolean {
  try {
    return compilePattern('pattern', pattern).test(text);
  } catch {
    return text.includes(pattern);
  }
}

/** Only the plainest spellings: code can say everything in a hundred ways. */
function judgeCode(name: string, words: readonly string[]): string | undefined {
  const code = (name === 'git' ? words.filter((word) => /^alias\.[^=]*=!/.test(word)) : words).join(' ');
  if (
    /\bfork\s+while\s+(?:fork|1)\b|while\s*\(?\s*(?:1|true|True)\s*\)?\s*[:{]?\s*(?:os\.)?fork\b/.test(code)
  )
    return 'fork bomb';
  if (/(?:rmtree|rmSync|rm_rf|removeSync|remove_dir_all)\(\s*["'](?:\/|~)["']/.test(code))
    return 'deleting the root';
  return /\brm\s+(?:-\S+\s+)*-\w*[rR]\w*\s+(?:-\S+\s+)*(?:\/|~|\$HOME)\/?\*?(?:["'`\s;)]|$)/.test(code)
    ? 'rm of the root'
    : undefined;
}
