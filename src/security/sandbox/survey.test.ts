import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from './sandbox.fixture.ts';
import { createSurvey, type SurveyOptions } from './survey.ts';

function surveyOf(host: Host, options: Partial<SurveyOptions> = {}) {
  const survey = createSurvey({
    roots: [host.home],
    workspace: [host.workspace],
    home: host.home,
    skip: [],
    ...options,
  });
  onTestFinished(() => survey.dispose());
  const look = async () => {
    const { specialFiles, repositories, overflowing } = await survey.look();
    // The kernel lists sockets of the whole machine.
    const ours = specialFiles.filter((path) => path.startsWith(`${host.root}/`));
    const shorten = (path: string): string => path.slice(host.home.length + 1);
    return {
      specialFiles: ours.map(shorten).toSorted(),
      repositories: repositories.map(shorten),
      overflowing: overflowing.map(shorten),
    };
  };
  const lookUnlisted = async (): Promise<string[]> =>
    (await survey.look()).unlisted.map((path) => path.slice(host.home.length + 1));
  return { look, lookUnlisted };
}

function makeFifo(host: Host, path: string): string {
  const full = join(host.makeDirectory(join(path, '..')), path.split('/').at(-1) ?? '');
  execFileSync('mkfifo', [full]);
  return full;
}

async function listenAt(path: string): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  return server;
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
  });

/** A socket that nobody listens at: the kernel's list does not have it. */
async function makeDeadSocket(host: Host, path: string): Promise<void> {
  const full = host.write(path);
  rmSync(full);
  const server = await listenAt(`${full}.bound`);
  linkSync(`${full}.bound`, full);
  await closed(server);
}

describe('sockets and FIFOs', () => {
  test('are found outside the workspace, however deep', async () => {
    const host = createHost();
    makeFifo(host, 'home/control');
    makeFifo(host, 'home/a/b/c/d/pipe');
    await makeDeadSocket(host, 'home/run/agent');
    makeFifo(host, 'home/project/own');
    host.write('home/plain');
    const { look } = surveyOf(host);
    await expect
      .poll(async () => (await look()).specialFiles)
      .toEqual(['a/b/c/d/pipe', 'control', 'run/agent']);
  });

  test('that are bound now are found at once, wherever they are', async () => {
    const host = createHost();
    const server = await listenAt(join(host.makeDirectory('home/late'), 's'));
    try {
      const { look } = surveyOf(host, { roots: [] });
      expect((await look()).specialFiles).toEqual(['late/s']);
      const second = await listenAt(join(host.home, 'late/t'));
      expect((await look()).specialFiles).toEqual(['late/s', 'late/t']);
      await closed(second);
      expect((await look()).specialFiles).toEqual(['late/s']);
    } finally {
      await closed(server);
    }
  });

  test('of the workspace are its own business', async () => {
    const host = createHost();
    const server = await listenAt(join(host.workspace, 's'));
    try {
      expect((await surveyOf(host, { roots: [] }).look()).specialFiles).toEqual([]);
    } finally {
      await closed(server);
    }
  });

  test('are not looked for in what is skipped, nor where there are very many files', async () => {
    const host = createHost();
    makeFifo(host, 'home/skipped/pipe');
    makeFifo(host, 'home/node_modules/pipe');
    makeFifo(host, 'home/found/pipe');
    const { look } = surveyOf(host, { skip: [join(host.home, 'skipped')] });
    await expect.poll(async () => (await look()).specialFiles).toEqual(['found/pipe']);
  });

  test('of which there are very many are told by the directory that they are in', async () => {
    const host = createHost();
    makeFifo(host, 'home/control');
    host.makeDirectory('home/.npm/x');
    const names = Array.from({ length: 600 }, (_, index) => join(host.home, '.npm/x', `${index}`));
    execFileSync('mkfifo', names);
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).specialFiles.toSorted()).toEqual(['.npm/x', 'control']);
  });

  test('that are gone are not told', async () => {
    const host = createHost();
    const pipe = makeFifo(host, 'home/pipe');
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).specialFiles).toEqual(['pipe']);
    rmSync(pipe);
    expect((await look()).specialFiles).toEqual([]);
  });

  test('are not followed through links, and a link in a circle is no trap', async () => {
    const host = createHost();
    makeFifo(host, 'outside/pipe');
    host.link('home/link', join(host.root, 'outside'));
    host.link('home/circle', '.');
    makeFifo(host, 'home/z/pipe');
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).specialFiles).toEqual(['z/pipe']);
  });

  test('with a line break or spaces in the name are found', async () => {
    const host = createHost();
    makeFifo(host, 'home/with space/p q');
    makeFifo(host, 'home/new\nline');
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).specialFiles).toEqual(['new\nline', 'with space/p q']);
  });
});

describe('repositories', () => {
  test('are found inside the workspace alone: directories, worktrees and submodules', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.makeRepository('home/project/libs/one');
    host.write('home/project/libs/two/.git', 'gitdir: elsewhere');
    host.makeRepository('home/other');
    host.makeRepository('home/project/node_modules/three');
    const { look } = surveyOf(host);
    await expect
      .poll(async () => (await look()).repositories.toSorted())
      .toEqual(['project', 'project/libs/one', 'project/libs/two']);
  });

  test('that are gone are not told', async () => {
    const host = createHost();
    host.makeRepository('home/project/one');
    host.makeRepository('home/project/two');
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).repositories).toHaveLength(2);
    rmSync(join(host.workspace, 'one'), { recursive: true });
    expect((await look()).repositories).toEqual(['project/two']);
  });

  test('that were there before a command made many come first', async () => {
    const host = createHost();
    const old = Array.from({ length: 5 }, (_, index) => `project/zz-old-${index}`);
    for (const name of old) {
      makeLater(host, `home/${name}/.git`);
    }
    for (let index = 0; index < 80; index++) makeLater(host, `home/project/a-new-${index}/.git`);
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).repositories).toHaveLength(85);
    const { repositories } = await look();
    expect(repositories.slice(0, 5)).toEqual(old);
    expect(repositories.slice(5)).toEqual(Array.from({ length: 80 }, (_, index) => `project/a-new-${index}`));
  });

  test('of which there are very many are told by the directories that they are in', async () => {
    const host = createHost();
    for (let index = 0; index < 450; index++) host.makeDirectory(`home/project/many/${index}/.git`);
    host.makeDirectory('home/project/zz/real/.git');
    const { look, lookUnlisted } = surveyOf(host);
    await expect.poll(async () => (await look()).overflowing).toEqual(['project/many', 'project/zz']);
    expect((await look()).repositories).toHaveLength(400);
    // A second name of what is in them is looked for all the same.
    expect(await lookUnlisted()).toHaveLength(51);
    expect(await lookUnlisted()).toContain('project/zz/real');
  });

  test('in very many directories are told by the workspace', async () => {
    const host = createHost();
    for (let index = 0; index < 510; index++) host.makeDirectory(`home/project/${index}/.git`);
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).overflowing).toEqual(['project']);
  });

  test.for([['objects', 'refs'], ['commondir']])(
    'are also directories that git takes for one: with HEAD, %s and %s',
    async (names) => {
      const host = createHost();
      for (const name of ['HEAD', ...names]) host.makeDirectory(`home/project/a/b/${name}`);
      host.makeDirectory('home/project/other/HEAD');
      host.makeDirectory('home/project/other/objects');
      const { look } = surveyOf(host);
      await expect.poll(async () => (await look()).repositories).toEqual(['project/a/b']);
    },
  );

  test('are found however deep they are', async () => {
    const host = createHost();
    host.makeDirectory(`home/project/${'d/'.repeat(20)}.git`);
    const { look } = surveyOf(host);
    await expect.poll(async () => (await look()).repositories).toEqual([`project/${'d/'.repeat(19)}d`]);
  });

  let clock = 0;
  /** Made when the file system's clock has gone on since the last: it ticks every few milliseconds. */
  function makeLater(host: Host, path: string): void {
    const probe = join(host.root, 'probe');
    do {
      rmSync(probe, { force: true });
      writeFileSync(probe, '');
    } while (statSync(probe).birthtimeMs <= clock);
    mkdirSync(join(host.root, path), { recursive: true });
    clock = statSync(join(host.root, path)).birthtimeMs;
  }
});
