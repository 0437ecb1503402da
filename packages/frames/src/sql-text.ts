import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { charactersIn } from './characters.ts';

/** Longer SQL is refused. */
const MAX_SQL_LENGTH = 1024 * 1024;

/** Throws `invalid_sql` for a text that no engine should see: one that is too long, or has a NUL, which ends it for some. */
export function checkSqlText(sql: string): void {
  if (sql.length > MAX_SQL_LENGTH) {
    throw new ServiceError('invalid_sql', `The SQL is longer than ${MAX_SQL_LENGTH} characters: ${quoted(sql)}.`);
  }
  const at = sql.indexOf('\0');
  if (at < 0) return;
  throw new ServiceError('invalid_sql', 'The SQL has a NUL character.', {
    position: charactersIn(sql.slice(0, at)),
  });
}
