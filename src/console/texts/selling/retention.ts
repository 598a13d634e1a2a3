// The console's words of closed months and their archives. A page must not have words of its own.

import { decimalText, numberText } from '../../language'

export const retention = {
  off: 'Charges stay in the database permanently. To archive old months, set retention.charges in the configuration, such as 24mo.',
  on: (charges: string) =>
    `Charges stay ${charges.replace('mo', '')} months. Older months are closed automatically: their totals stay in the books.`,
  place: (place: string) => `Archives in ${place}`,
  next: 'Would be closed now',
  last: 'Closed',
  month: 'Month',
  charges: 'Charges',
  paid: 'Paid',
  waits: 'Waits for',
  openCharges: (count: number) => (count === 1 ? '1 open charge' : `${numberText(count)} open charges`),
  closed: 'Closed',
  size: 'Size',
  bytes: (bytes: number) =>
    bytes < 1e6 ? `${decimalText(bytes / 1e3, 1)} kB` : `${decimalText(bytes / 1e6, 1)} MB`,
  archive: 'Archive',
  nothingToClose: 'No month with charges is old enough.',
  nothingClosed: 'No month is closed: all charges are in the database.',
  close: 'Close now…',
  closeTitle: 'Close old months permanently',
  closeMeans: (months: number, charges: number, place: string) =>
    `${charges === 1 ? '1 charge' : `${numberText(charges)} charges`} of ${months === 1 ? '1 month' : `${months} months`} ${charges === 1 ? 'moves' : 'move'} from the database to archives in ${place}. Totals, balances and statements stay. Individual requests of that time are only in the archives.`,
}
