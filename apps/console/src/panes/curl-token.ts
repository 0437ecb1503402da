import type { AppState } from '../state/app-state.ts';

/** The option of curl with the token, if the server wants one; the token itself is never shown. */
export function curlToken(app: AppState): string {
  return app.info.value?.authentication.isRequired ? ' -H "Authorization: Bearer $SVC_TOKEN"' : '';
}
