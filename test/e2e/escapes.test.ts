/**
 * Attempts to get past the wall, in each preset, as root and as an ordinary user, through the built server. An attempt
 * is an entry in a table of escapes/; each is run for real, and none may succeed.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import { ALL_PRESETS, type Attempt, type User } from './escapes/attempt.ts';
import { FILES } from './escapes/files.ts';
import { KERNEL } from './escapes/kernel.ts';
import { PROGRAMS, REACH } from './escapes/reach.ts';
import { chosen, type Findings, plantCanaries, runAttempts } from './escapes/run.ts';
import { SECRETS } from './escapes/secrets.ts';
import {
  createHouse,
  type House,
  type Neighbours,
  plantSecrets,
  type Server,
  startIn,
  startNeighbours,
} from './escapes/stage.ts';
import { HOME_WORKSPACE, prepareHome, prepareWorkspace, WORKSPACE } from './escapes/workspace.ts';

const USERS: readonly User[] = ['root', 'ordinary user'];
const ATTEMPTS: readonly Attempt[] = [...FILES, ...SECRETS, ...KERNEL, ...REACH, ...PROGRAMS, ...WORKSPACE];

const cannotRun =
  needs('bwrap', 'git', 'python3') ||
  lacks(process.getuid?.() !== 0, 'escapes are tried as two users, which takes root');

test('the table is long, and no two attempts have one name', () => {
  const names = [...ATTEMPTS, ...HOME_WORKSPACE].map(({ name }) => name);
  expect(names.length).toBeGreaterThan(200);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe.skipIf(cannotRun).for(USERS)('as %s', (user) => {
  describe.for(ALL_PRESETS)('in the %s preset, no attempt succeeds:', (preset) => {
    const attempts = chosen(ATTEMPTS, preset, user);
    let house: House;
    let server: Server;
    let neighbours: Neighbours;
    let findings: Findings;
    beforeAll(async () => {
      house = createHouse(user);
      plantSecrets(house);
      prepareWorkspace(house.work);
      const canaries = plantCanaries(house, attempts);
      house.handOver();
      neighbours = await startNeighbours(house);
      server = await startIn(house, { preset, args: ['--config', house.settingsFile] });
      // For others to find in the state directory.
      await server.execute(`echo ${house.secret} of another execution`);
      findings = await runAttempts(attempts, { house, server, neighbours, preset, canaries });
    });
    afterAll(async () => {
      await server.close();
      await neighbours.dispose();
      house.remove();
    });

    test.for(attempts)('$name', ({ name }) => {
      expect(findings.of.get(name)).toEqual([]);
    });

    test('and nothing outside changed or was reached', () => {
      expect(findings.outside).toEqual([]);
    });

    test('and the server goes on', async () => {
      expect((await server.execute('echo alive')).data).toMatchObject({ success: true, stdout: 'alive\n' });
    });
  });

  describe('where the home directory is the workspace, no attempt succeeds:', () => {
    let house: House;
    let server: Server;
    let neighbours: Neighbours;
    let findings: Findings;
    beforeAll(async () => {
      house = createHouse(user);
      prepareHome(house.home);
      house.write('.ssh/id_rsa', house.secret, 0o600);
      house.write('.aws/credentials', house.secret, 0o600);
      house.handOver();
      neighbours = await startNeighbours(house);
      const atHome = { ...house, work: house.home };
      server = await startIn(house, { cwd: '/usr' });
      await server.execute('true');
      findings = await runAttempts(HOME_WORKSPACE, {
        house: atHome,
        server,
        neighbours,
        preset: 'development',
        canaries: new Map(),
      });
    });
    afterAll(async () => {
      await server.close();
      await neighbours.dispose();
      house.remove();
    });

    test.for(HOME_WORKSPACE)('$name', ({ name }) => {
      expect(findings.of.get(name)).toEqual([]);
    });

    test('secrets stay hidden', async () => {
      const { data, text } = await server.execute(
        'cat ~/.ssh/* ~/.aws/*; mv ~/.ssh ~/ssh; mv ~/.aws ~/aws; cat ~/ssh/* ~/aws/*; find ~ -type f | xargs cat',
        { merge_stderr: true, max_output_size: 1_048_576 },
      );
      expect(data, text).toMatchObject({ stdout: expect.not.stringContaining(house.secret) });
    });
  });
});
