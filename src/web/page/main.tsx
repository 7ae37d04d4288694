/** The operator's page in the browser: opens its session, then shows what runs. */
import { render } from 'preact';
import { openSession, RequestError } from './api.ts';
import { App } from './app.tsx';
import './page.css';
import { listenToKeys } from './keyboard.ts';
import { followLocation, session, stayConnected } from './page-state.ts';
import { SignIn } from './sign-in.tsx';

const root = document.getElementById('page') as HTMLElement;

async function start(hash?: string): Promise<void> {
  try {
    session.value = await openSession(hash);
    followLocation();
    listenToKeys();
    render(<App />, root);
    void stayConnected();
  } catch (error) {
    const answer =
      error instanceof RequestError
        ? error.answer
        : { message: 'The server of this page does not answer.', hint: 'Start it again.' };
    render(<SignIn answer={answer} onCode={(code) => void start(code)} />, root);
  }
}

await start();
