/** The same as escapes-races.test.ts, with a server that runs as root. */
import { describeRaces } from './escapes/races.ts';

describeRaces('root');
