// German words for the page of codes.

import { named, type Translated } from '../../../language'
import type { codes } from '../../selling/codes'
import { counted } from '../words'

export default {
  title: 'Codes',
  create: 'Neue Codes',
  createAction: 'Codes erstellen',
  code: 'Code',
  status: 'Status',
  states: named({ open: 'offen', redeemed: 'eingelöst', revoked: 'widerrufen', expired: 'abgelaufen' }),
  worth: 'Wert',
  worthEach: 'Wert jedes Codes in Dollar',
  count: 'Anzahl',
  expires: 'Läuft ab',
  expiresUtc: 'Läuft ab, UTC',
  expiresHint: 'Leer: nie',
  note: 'Notiz',
  noteHint: 'Steht in den Buchungen dessen, der den Code einlöst',
  redeemedBy: 'Eingelöst von',
  redeemed: 'Eingelöst',
  created: 'Erstellt',
  actions: 'Aktionen',
  revoke: 'Widerrufen …',
  revokeTitle: (hint) => `Den Code ${hint} widerrufen`,
  revokeMeans: (amount) => `Er wird ab sofort abgelehnt: Niemand kann die ${amount} mehr einlösen.`,
  empty:
    'Noch keine Codes. Erstellen Sie welche: Der Inhaber eines Schlüssels löst einen gegen Guthaben ein.',
  noneFound: 'Keine Codes mit diesem Status.',
  made: (count, amount) =>
    `${counted(count, 'Code', 'Codes')} im Wert von ${count === 1 ? '' : 'je '}${amount}`,
  shownOnce: '– nur jetzt zu sehen. Kopieren, speichern oder drucken Sie, bevor Sie weitergehen.',
  print: 'Drucken',
  hide: 'Fertig',
  validUntil: (time) => `bis ${time} UTC`,
} satisfies Translated<typeof codes>
