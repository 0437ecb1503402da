import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call } from '@svc/frames';
import { flightSql } from '@svc/proto';
import type { Service } from '@svc/service';
import type { FlightUpload } from '../flight/flight-upload.ts';
import { checkPlace } from '@svc/frames/statements';
import { refuseTransaction } from './refuse-transaction.ts';

/** Puts or appends the rows of an upload as the command says. Returns the number of rows. */
export async function ingest(
  service: Service,
  call: Call,
  command: flightSql.CommandStatementIngest,
  upload: FlightUpload,
): Promise<number> {
  check(command);
  const { table } = command;
  const { APPEND, REPLACE } = EXISTS;
  const { ifExists, ifNotExist } = command.tableDefinitionOptions ?? { ifExists: 0, ifNotExist: 0 };
  const mayCreate = ifNotExist === NOT_EXIST.CREATE;
  const data = { format: 'arrow', body: upload.body } as const;
  const isPresent = mayCreate ? {} : { ifPresent: true };
  try {
    if (ifExists === APPEND) await service.appendFrame(call, table, data, isPresent);
    else if (ifExists === REPLACE) await service.putFrame(call, table, data, isPresent);
    else await service.putFrame(call, table, data, { ifAbsent: true });
  } catch (error) {
    const isMissing = !mayCreate && error instanceof ServiceError && error.code === 'version_conflict';
    throw isMissing ? new ServiceError('handle_not_found', `There is no table ${quoted(table)}.`) : error;
  }
  return upload.rows();
}

const EXISTS = {
  APPEND: flightSql.CommandStatementIngestTableDefinitionOptionsTableExistsOption.TABLE_EXISTS_OPTION_APPEND,
  REPLACE: flightSql.CommandStatementIngestTableDefinitionOptionsTableExistsOption.TABLE_EXISTS_OPTION_REPLACE,
};
const NOT_EXIST = {
  CREATE: flightSql.CommandStatementIngestTableDefinitionOptionsTableNotExistOption.TABLE_NOT_EXIST_OPTION_CREATE,
};

function check({ catalog, schema, temporary, transactionId, options }: flightSql.CommandStatementIngest): void {
  checkPlace(catalog, schema);
  refuseTransaction(transactionId);
  if (temporary) {
    throw new ServiceError('invalid_argument', 'There are no temporary tables.', { hint: 'Leave temporary out.' });
  }
  const [option] = options.keys();
  if (option !== undefined) {
    throw new ServiceError('invalid_argument', `There is no ingest option ${quoted(option)}.`, {
      hint: 'Leave options out.',
    });
  }
}
