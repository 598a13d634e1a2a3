// The console's words for the page of codes. A page must not have words of its own.

import { named, numberText } from '../../language'

export const codes = {
  title: 'Codes',
  create: 'New codes',
  createAction: 'Create codes',
  code: 'Code',
  status: 'Status',
  states: named({ open: 'open', redeemed: 'redeemed', revoked: 'revoked', expired: 'expired' }),
  worth: 'Worth',
  worthEach: 'Value of each in dollars',
  count: 'How many',
  expires: 'Expires',
  expiresUtc: 'Expires, UTC',
  expiresHint: 'Empty: never',
  note: 'Note',
  noteHint: "Stored in the redeemer's ledger",
  redeemedBy: 'Redeemed by',
  redeemed: 'Redeemed',
  created: 'Created',
  actions: 'Actions',
  revoke: 'Revoke…',
  revokeTitle: (hint: string) => `Revoke the code ${hint}`,
  revokeMeans: (amount: string) => `It is refused permanently: nobody can redeem its ${amount}.`,
  empty: 'No codes yet. Create some: key holders redeem them for money.',
  noneFound: 'No codes have this status.',
  made: (count: number, amount: string) =>
    count === 1 ? `1 code worth ${amount}` : `${numberText(count)} codes worth ${amount} each`,
  shownOnce: '– shown only now. Copy, download or print before you leave.',
  print: 'Print',
  hide: 'Done',
  validUntil: (time: string) => `until ${time} UTC`,
}
