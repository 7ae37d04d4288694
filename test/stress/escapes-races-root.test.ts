/** The same as escapes-races.test.ts, with a server that runs as root. */
import { describeRaces } from '../e2e/escapes/races.ts';

describeRaces('root');
