import { describeRaces } from './escapes/races.ts';

describeRaces('ordinary user');
