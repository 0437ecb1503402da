import { ServiceError } from '@svc/errors';

/** Throws if a request has a transaction, because transactions are not supported. */
export function refuseTransaction(transactionId: Uint8Array | undefined): void {
  if (transactionId === undefined || transactionId.length === 0) return;
  throw new ServiceError(
    'invalid_argument',
    'The request names a transaction, but this server does not support transactions.',
    {
      hint: 'Every statement is committed on its own: leave the transaction out.',
    },
  );
}
