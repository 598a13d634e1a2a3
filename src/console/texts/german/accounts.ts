// German words of the page of accounts.

import type { Translated } from '../../language'
import type { accounts } from '../accounts'
import { counted } from './words'

export default {
  title: 'Konten',
  one: (account) => `Konto ${account}`,
  account: 'Konto',
  status: 'Status',
  balance: 'Guthaben',
  held: 'Reserviert',
  available: 'Verfügbar',
  created: 'Angelegt',
  plan: 'Tarif',
  noPlan: 'keiner',
  budget: 'Budget',
  ownBudget: 'Eigenes Budget',
  budgetHint: 'Leer: das des Tarifs, falls vorhanden',
  planAndBudget: 'Tarif und Budget',
  planMeans: 'Ein neuer Tarif gilt nach einer Sekunde. Laufende Anfragen behalten ihren Preis.',
  heldFilter: [['true', 'etwas']],
  empty: 'Noch keine Konten. Legen Sie einen Schlüssel an: Sein Konto entsteht mit ihm.',
  noneHeld: 'Zurzeit ist nichts reserviert.',
  note: 'Notiz',
  topUp: 'Aufladen',
  topUpAction: 'Betrag gutschreiben',
  adjust: 'Korrigieren',
  adjustAction: 'Guthaben korrigieren',
  dollars: 'Dollar',
  signedDollars: 'Dollar, − zum Abziehen',
  why: 'Grund',
  kind: 'Bewegung',
  amount: 'Betrag',
  after: 'Guthaben danach',
  charge: 'Für',
  ledger: 'Buchungen',
  describe: 'Name und Notiz',
  displayName: 'Anzeigename',
  freeze: 'Sperren …',
  freezeTitle: (account) => `${account} sperren`,
  freezeMeans: (running) =>
    `Alle Schlüssel dieses Kontos werden abgelehnt, bis es entsperrt wird.${
      running === undefined
        ? ''
        : ` ${counted(running, 'laufende Anfrage endet', 'laufende Anfragen enden')} wie üblich und ${running === 1 ? 'wird' : 'werden'} bezahlt.`
    }`,
  unfreeze: 'Entsperren',
  close: 'Schließen …',
  closeTitle: (account) => `${account} endgültig schließen`,
  closeMeans: (balance, held) =>
    `Alle Schlüssel des Kontos werden dauerhaft abgelehnt. Das Guthaben von ${balance} bleibt in den Büchern und kann nicht mehr verwendet werden. Reserviert sind jetzt ${held}; schließen lässt sich das Konto erst, wenn nichts mehr reserviert ist.`,
} satisfies Translated<typeof accounts>
