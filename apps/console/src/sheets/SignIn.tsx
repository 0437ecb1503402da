import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { Dialog } from './Dialog.tsx';
import { ErrorBox } from '../panes/ErrorBox.tsx';

/** Asks for a token. It is in no storage: a reload asks again. */
export function SignIn({ app }: { readonly app: AppState }): JSX.Element {
  const token = useSignal('');
  const isBusy = useSignal(false);
  const hasTried = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (token.value.trim() === '' || isBusy.value) return;
    isBusy.value = true;
    await app.signIn(token.value.trim());
    isBusy.value = false;
    hasTried.value = true;
  };
  const refusal = app.refusal.value;
  return (
    <Dialog title="Sign in" name="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <p>
          This server answers only callers with a token. The page keeps it in memory, until it is closed or reloaded.
        </p>
        <label class="field">
          Token
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={token.value}
            onInput={(event) => (token.value = event.currentTarget.value)}
          />
        </label>
        {hasTried.value && refusal && <ErrorBox error={refusal} />}
        <footer>
          <button type="submit" class="primary" disabled={isBusy.value || token.value.trim() === ''}>
            {isBusy.value ? 'Signing in…' : 'Sign in'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
