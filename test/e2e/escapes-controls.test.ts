/** What the sandbox must not break, in each preset, as root and as an ordinary user. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_PRESETS, type User } from './escapes/attempt.ts';
import { CONTROLS } from './escapes/controls.ts';
import { cannotRun } from './escapes/describe.ts';
import { createHouse, createUndoing, type House, type Server, startIn } from './escapes/stage.ts';

const USERS: readonly User[] = ['root', 'ordinary user'];
/** Both presets of programs have only what is allowed; the controls are of builtins there. */
const cases = USERS.flatMap((user) => ALL_PRESETS.map((preset) => ({ user, preset })));

describe.skipIf(cannotRun).each(cases)('as $user in the $preset preset', ({ user, preset }) => {
  const controls = CONTROLS.filter(({ presets = ['development', 'sandbox'] }) => presets.includes(preset));
  const undoing = createUndoing();
  let house: House;
  let server: Server;
  beforeAll(async () => {
    house = createHouse(user);
    undoing.add(house.remove);
    house.write('readable', 'yes\n');
    for (const [index, { script }] of controls.entries()) {
      mkdirSync(join(house.work, String(index)));
      writeFileSync(join(house.work, `${index}.sh`), script);
    }
    house.handOver();
    server = await startIn(house, { preset, env: { MCP_SHELL_SECURITY_MODE: 'permissive' } });
    undoing.add(server.close);
  });
  afterAll(undoing.run);

  test.for(controls.map(({ name }, index) => [name, index] as const))('%s', async ([, index]) => {
    const { data, text } = await server.execute(`bash ../${index}.sh`, {
      working_directory: join(house.work, String(index)),
    });
    expect(String(data.stdout), text).toMatch(/^(?:.*\n)*yes\n$/);
  });

  test(`/tmp is ${preset === 'development' ? 'kept' : 'fresh'} from one command to the next`, async () => {
    await server.execute('echo mine > /tmp/kept');
    const { data } = await server.execute('[ -e /tmp/kept ] && echo kept || echo fresh');
    expect(data.stdout).toBe(preset === 'development' ? 'kept\n' : 'fresh\n');
  });

  test('what a session carries, input and exit codes', async () => {
    await server.execute('cd /usr; export COLOUR=blue', { session_id: 'one' });
    expect(
      (
        await server.execute('read -r line; echo "$PWD $COLOUR $line"; exit 7', {
          session_id: 'one',
          input_data: 'typed\n',
        })
      ).data,
    ).toMatchObject({ stdout: '/usr blue typed\n', exit_code: 7 });
  });
});
