// German words for spenders below a key.

import type { Translated } from '../../language'
import type { spenders } from '../spenders'

export default {
  title: 'Verbraucher',
  own: 'Tokens und verbundene Programme',
  empty: 'Keine: Die Anfragen nennen keinen Verbraucher, und es gibt keine Tokens.',
  noneOwn: 'Keine. Erzeugen Sie Tokens mit POST /v1/tokens, oder verbinden Sie ein Programm.',
  name: 'Name',
  kind: 'Art',
  kinds: { browser: 'Webseite', mcp: 'Programm', user: 'Endnutzer', tag: 'Kennung' },
  used: 'Verbrauchtes Budget',
  noBudget: 'kein Budget',
  rate: 'Anfragen pro Minute',
  expires: 'Läuft ab',
  status: 'Status',
  actions: 'Aktionen',
  revoke: 'Widerrufen …',
  revokeTitle: (name) => `${name} endgültig widerrufen`,
  revokeMeans: 'Wird innerhalb einer Sekunde abgelehnt. Laufende Anfragen laufen weiter.',
  forget: 'Vergessen …',
  forgetTitle: (name) => `Den Namen ${name} löschen`,
  forgetMeans: (name) =>
    `Die Summen bleiben unter einer Id. Nennt eine Anfrage ${name} erneut, ist das ein neuer Verbraucher mit neuem Budget.`,
} satisfies Translated<typeof spenders>
