/** Without a sandbox: what requires one runs nothing. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cannotRun } from './escapes/describe.ts';
import { createHouse, type House, startIn } from './escapes/stage.ts';

describe.skipIf(cannotRun)('without a sandbox', () => {
  /** Inside this bwrap no further user namespace can be created. */
  function wrap(house: House): void {
    const real = join(house.base, 'server/real');
    cpSync(house.installation, real, { recursive: true });
    const argv = [
      '--unshare-user',
      '--disable-userns',
      '--cap-drop',
      'ALL',
      '--dev-bind',
      '/',
      '/',
      process.execPath,
      join(real, 'cli.js'),
    ];
    writeFileSync(
      join(house.installation, 'cli.js'),
      `import { spawn } from 'node:child_process';\nspawn('bwrap', ${JSON.stringify(argv)}, { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));\n`,
    );
  }

  test('security.sandbox = "required" runs nothing, and says what to do', async () => {
    const house = createHouse('root');
    onTestFinished(house.remove);
    wrap(house);
    const server = await startIn(house, { env: { MCP_SHELL_SECURITY_SANDBOX: 'required' } });
    onTestFinished(server.close);
    for (const execution_mode of ['foreground', 'adaptive', 'background', 'detached']) {
      const { data, text } = await server.execute('echo ran', { execution_mode });
      expect(data.error, text).toMatchObject({
        code: 'SECURITY_003',
        details: { fix: expect.stringMatching(/\S/) },
      });
    }
  });

  test.for(['sandbox', 'production', 'minimal'] as const)(
    'the %s preset runs nothing either',
    async (preset) => {
      const house = createHouse('root');
      onTestFinished(house.remove);
      wrap(house);
      const server = await startIn(house, { preset });
      onTestFinished(server.close);
      expect((await server.execute('echo ran')).data.error).toMatchObject({ code: 'SECURITY_003' });
    },
  );

  test('"auto" runs and says so', async () => {
    const house = createHouse('root');
    onTestFinished(house.remove);
    wrap(house);
    const server = await startIn(house);
    onTestFinished(server.close);
    expect((await server.execute('echo ran')).data.stdout).toBe('ran\n');
    const { text } = await server.call('monitoring_get_stats', {});
    expect(text).toMatch(/^Sandbox: none \(\S/m);
  });
});
