/** Shown without a session: how to get one, and where the server takes the operator's token a field for it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ErrorAnswer } from '../wire.ts';
import { exchangeToken } from './api.ts';
import { wordsOf } from './asking.ts';

interface SignInProps {
  readonly answer: Pick<ErrorAnswer, 'message' | 'hint' | 'takesToken'>;
  /** With the code of a link. */
  onCode(hash: string): void;
}

export function SignIn({ answer: { message, hint, takesToken }, onCode }: SignInProps): JSX.Element {
  return (
    <main class="signed-out">
      <h1>{takesToken === true ? 'Sign in' : 'Open a new link'}</h1>
      <p>{message}</p>
      <p class="quiet">{hint}</p>
      {takesToken === true && <TokenForm onCode={onCode} />}
    </main>
  );
}

function TokenForm({ onCode }: Pick<SignInProps, 'onCode'>): JSX.Element {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState('');
  async function signIn(): Promise<void> {
    try {
      onCode(await exchangeToken(token.trim()));
    } catch (error) {
      setFailure(wordsOf(error));
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void signIn();
      }}
    >
      <label for="token">Operator’s token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        required
        value={token}
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      <button type="submit">Sign in</button>
      <p role="alert">{failure}</p>
    </form>
  );
}
