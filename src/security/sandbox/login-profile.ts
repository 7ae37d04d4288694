/**
 * What the user's login shell finds around it when it is asked for its PATH: the host as it is, but nothing of it can be
 * written, no private file read and nothing reached. Its start-up files are the user's own, as far as no command got to
 * change them.
 */
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { NO_GIT } from './git-layout.ts';
import type { Profile } from './profile.ts';
import { NOTHING_WRITTEN } from './profile-input.ts';

const TMP_BYTES = 64 * 1024 * 1024;

export function loginProfile(
  host: Pick<
    ProfileInput,
    'security' | 'homedir' | 'environment' | 'ownPaths' | 'privatePaths' | 'specialFiles'
  >,
): Profile {
  return buildProfile({
    ...host,
    ...NOTHING_WRITTEN,
    security: {
      ...host.security,
      root: 'host',
      workspace: [],
      writablePaths: [],
      readablePaths: [],
      expose: [],
      network: false,
      hasToolCaches: false,
      maxTmpBytes: TMP_BYTES,
    },
    installation: [],
    git: NO_GIT,
    gitDirectories: [],
    besidesDots: [],
    tmpDirectory: undefined,
    systemRoot: [],
    isRoot: process.getuid?.() === 0,
  });
}
