/**
 * Attempts to get past the sandbox, in each preset, as root and as an ordinary user, through the built server. An attempt
 * is an entry in a table of escapes/; each is run for real, and none may succeed.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks, needs } from '../../setup/needs.ts';
import { ALL_PRESETS, type Attempt, type User } from './attempt.ts';
import { FILES } from './files.ts';
import { KERNEL } from './kernel.ts';
import { startNeighbours } from './neighbours.ts';
import { PROGRAMS, REACH } from './reach.ts';
import { chosen, type Findings, plantCanaries, runAttempts } from './run.ts';
import { SECRETS } from './secrets.ts';
import { createHouse, createUndoing, type House, plantSecrets, type Server, startIn } from './stage.ts';
import { HOME_WORKSPACE, prepareHome, prepareWorkspace, WORKSPACE } from './workspace.ts';

export const ATTEMPTS: readonly Attempt[] = [
  ...FILES,
  ...SECRETS,
  ...KERNEL,
  ...REACH,
  ...PROGRAMS,
  ...WORKSPACE,
];

export const cannotRun =
  needs('bwrap', 'git', 'python3') ||
  lacks(process.getuid?.() !== 0, 'escapes are tried as two users, which takes root');

/** All attempts are made before the first test; a busy machine needs longer than a hook has. */
const SET_UP_MS = 180_000;

/** A file a user, so that both run at once. */
export function describeEscapes(user: User): void {
  describe.skipIf(cannotRun).each(ALL_PRESETS)('in the %s preset, no attempt succeeds:', (preset) => {
    const attempts = chosen(ATTEMPTS, preset, user);
    const undoing = createUndoing();
    let house: House;
    let server: Server;
    let findings: Findings;
    beforeAll(async () => {
      house = createHouse(user);
      undoing.add(house.remove);
      plantSecrets(house);
      if (attempts.some(({ name }) => WORKSPACE.some((other) => other.name === name)))
        prepareWorkspace(house.work);
      const canaries = plantCanaries(house, attempts);
      house.handOver();
      const neighbours = await startNeighbours(house);
      undoing.add(neighbours.dispose);
      server = await startIn(house, {
        preset,
        args: ['--config', house.settingsFile],
        // The sandbox alone: it has to hold where the policy was talked round.
        env: { MCP_SHELL_SECURITY_MODE: 'permissive' },
      });
      undoing.add(server.close);
      // For others to find in the state directory.
      await server.execute(`echo ${house.secret} of another execution`);
      findings = await runAttempts(attempts, { house, server, neighbours, preset, canaries });
    }, SET_UP_MS);
    afterAll(undoing.run);

    test.for(attempts.map(({ name }) => [name]))('%s', ([name = '']) => {
      expect(findings.of.get(name)).toEqual([]);
    });

    test('and nothing outside changed or was reached', () => {
      expect(findings.outside).toEqual([]);
    });

    test('and the server goes on', async () => {
      expect((await server.execute('echo alive')).data).toMatchObject({ success: true, stdout: 'alive\n' });
    });
  });

  describe.skipIf(cannotRun)('where the home directory is the workspace, no attempt succeeds:', () => {
    const undoing = createUndoing();
    let house: House;
    let server: Server;
    let findings: Findings;
    beforeAll(async () => {
      house = createHouse(user);
      undoing.add(house.remove);
      prepareHome(house.home);
      house.write('.ssh/id_rsa', house.secret, 0o600);
      house.write('.aws/credentials', house.secret, 0o600);
      house.handOver();
      const neighbours = await startNeighbours(house);
      undoing.add(neighbours.dispose);
      const atHome = { ...house, work: house.home };
      server = await startIn(house, { cwd: '/usr' });
      undoing.add(server.close);
      await server.execute('true');
      findings = await runAttempts(HOME_WORKSPACE, {
        house: atHome,
        server,
        neighbours,
        preset: 'development',
        canaries: new Map(),
      });
    }, SET_UP_MS);
    afterAll(undoing.run);

    test.for(HOME_WORKSPACE.map(({ name }) => [name]))('%s', ([name = '']) => {
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
}
