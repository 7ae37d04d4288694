/**
 * What the SDK takes from its platform; build.mjs puts it in place of the SDK's own. That one brings a validator of
 * JSON Schema, a tenth of all the code that is read at every start, for questions that we do not ask through it.
 */
export { default as process } from 'node:process';

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('There is no validator of JSON Schema in here.');
  }
}
