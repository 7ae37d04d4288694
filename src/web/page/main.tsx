/** The operator's page in the browser: opens its session, then shows what runs. */
import { render } from 'preact';
import { openSession, RequestError } from './api.ts';
import { App, SignedOut } from './app.tsx';
import './page.css';
import { listenToKeys } from './keyboard.ts';
import { followLocation, session, stayConnected } from './page-state.ts';

const root = document.getElementById('page') as HTMLElement;
try {
  session.value = await openSession();
  followLocation();
  listenToKeys();
  render(<App />, root);
  void stayConnected();
} catch (error) {
  const answer = error instanceof RequestError ? error.answer : undefined;
  const message = answer?.message ?? 'The server of this page does not answer.';
  render(<SignedOut message={message} hint={answer?.hint ?? 'Start `mcp-shell-server web` again.'} />, root);
}
