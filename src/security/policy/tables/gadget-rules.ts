/**
 * Options and arguments through which a program that an allow-list holds for harmless runs another one, writes, or loads
 * code. Each row has commands that it meets and commands that it does not, which a test checks.
 */
import { byName, setOf } from '../../list.ts';
import type { Gadget } from './gadget.ts';
import { BUILDING_GADGETS } from './gadgets-building.ts';
import { GIT_GADGETS } from './gadgets-git.ts';
import { READING_GADGETS } from './gadgets-reading.ts';

export type { Gadget } from './gadget.ts';

/** Short options that take a value, so that `-to` of sort is not taken for `-t -o`. */
export const VALUE_LETTERS: Readonly<Record<string, string>> = byName({
  sort: 'kStTo',
  'sed gsed': 'efl',
  'awk gawk mawk nawk': 'Ffv',
  tar: 'bCfFgHIKLNTVX',
  rg: 'ABCEMefgjmrtT',
  'fd fdfind': 'deEScjtxX',
  tree: 'LPIoHT',
  date: 'dfrs',
  man: 'CRLmMSsePrEHTXpZ',
  curl: 'AbcCdDeEFhHKmoPQrtTuUwxXyYz',
  wget: 'aABDeghiIlnoOPQRtTUwX',
  file: 'eFfmP',
  diff: 'CDFILSUWXx',
  grep: 'ABCDdefm',
  yq: 'oIp',
  shuf: 'inor',
  less: 'bhjkoOpPtTxyz',
  git: '',
});

/** Options whose value is the next word even where that looks like an option. */
export const PATTERN_OPTIONS: Readonly<Record<string, readonly string[]>> = byName({
  rg: ['-e', '--regexp'],
  'sed gsed': ['-e', '--expression'],
});

/** Programs whose long options have one dash: their words are compared whole. */
export const SINGLE_DASH = setOf(
  'find gfind go java javac terraform ffmpeg openssl gcc g++ cc c++ clang xxd ip dd',
);

export const GADGETS: readonly Gadget[] = [...GIT_GADGETS, ...READING_GADGETS, ...BUILDING_GADGETS];
