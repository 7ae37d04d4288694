/** Why a command is denied, and by which rule. */
import type { DenialCode, RuleClass } from './policy-types.ts';

export interface Denial {
  readonly code: DenialCode;
  readonly ruleClass: RuleClass;
  readonly rule: string;
  readonly reason: string;
  readonly part: string;
  readonly hint: string;
  readonly refused?: { readonly command: string; readonly argument?: string };
}
