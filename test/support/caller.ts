/** Calls tools in process, as one client of a world. */
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { createSearchThread } from '../../src/outputs/views.ts';
import { createLastLooks } from '../../src/tools/last-looks.ts';
import type { Modules } from '../../src/tools/modules.ts';
import type { Answer, Call, Tool } from '../../src/tools/tool.ts';
import { ROOT } from './root.ts';
import type { World } from './world.ts';

export interface Caller {
  call(tool: Tool, input: object, about?: Partial<Call>): Promise<Answer<Record<string, unknown>>>;
  readonly modules: Modules;
  dispose(): Promise<void>;
}

export function createCaller(world: World): Caller {
  const searchThread = createSearchThread(join(ROOT, 'dist/search-worker.js'));
  const modules: Modules = {
    ...world,
    clock: systemClock,
    searchThread,
    lastLooks: createLastLooks(),
  };
  return {
    modules,
    dispose: searchThread.dispose,
    async call(tool, input, about = {}) {
      const call: Call = {
        principal: 'local',
        reader: '',
        client: { name: 'test', version: '1' },
        requestId: 'req_test',
        signal: new AbortController().signal,
        progress: undefined,
        modules,
        ...about,
      };
      const answer = await tool.run(tool.input().parse(input), call);
      tool.output().strict().parse(answer.data);
      return answer;
    },
  };
}
