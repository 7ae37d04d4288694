/** Programs that are shells. */
import { byName } from '../../list.ts';

/** Shells that take a text after `-c`: which grammar they read. */
export const SHELLS: Readonly<Record<string, 'bash' | 'posix' | 'other'>> = byName({
  'bash rbash': 'bash',
  'sh dash ash hush': 'posix',
  'zsh ksh ksh93 mksh yash fish csh tcsh nu elvish xonsh pwsh powershell': 'other',
});

export const isShellName = (name: string): boolean => Object.hasOwn(SHELLS, name);
