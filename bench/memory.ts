/** `npm run bench memory`: how the server grows with the size of an output and with the number of executions. */
import { say, startMeasured } from './support.ts';

const server = await startMeasured();
for (let n = 0; n < 50; n++) await server.call('shell_execute', { command: `echo warm ${n}` });

const before = server.residentMib();
await server.call('shell_execute', {
  command: 'head -c 104857600 /dev/zero | tr "\\0" "x"',
  execution_mode: 'foreground',
});
await server.call('shell_execute', { command: 'yes | head -c 104857600', execution_mode: 'foreground' });
say(
  `100 MiB of output, twice: ${before} MiB before, ${server.residentMib()} MiB after, ${server.peakMib()} MiB at most (grown by ${server.peakMib() - before}, allowed 60)`,
);

const early = server.residentMib();
for (let n = 0; n < 1000; n++) await server.call('shell_execute', { command: `echo ${n}; exit ${n % 2}` });
say(
  `1,000 executions: ${early} MiB before, ${server.residentMib()} MiB after (grown by ${server.residentMib() - early}, allowed 20)`,
);
await server.close();
