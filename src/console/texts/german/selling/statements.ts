// German words for the page of statements.

import type { Translated } from '../../../language'
import type { statements } from '../../selling/statements'
import { counted } from '../words'

export default {
  title: 'Abrechnungen',
  one: (number) => `Abrechnung ${number}`,
  number: 'Nummer',
  account: 'Konto',
  calledAs: 'Für',
  month: 'Monat',
  period: 'Zeitraum',
  fromTo: (from, to) => `${from} bis ${to}, UTC`,
  issued: 'Ausgestellt',
  before: 'Vorher',
  earlier: 'Bewegungen früherer Monate',
  moved: 'Ein- und Auszahlungen',
  used: 'Verbraucht',
  balance: 'Guthaben',
  balanceBefore: (day) => `Guthaben vor dem ${day}`,
  balanceOn: (day) => `Guthaben am ${day}`,
  seller: 'Verkäufer',
  tax: (name, percent, included) =>
    `${name} ${percent.replace('.', ',')} %, ${included ? 'enthalten' : 'zuzüglich'}`,
  model: 'Modell',
  requests: 'Anfragen',
  paid: 'Bezahlt',
  total: 'Gesamt',
  nothingUsed: 'In diesem Monat wurde nichts verbraucht.',
  transfers: 'Zahlungen und Korrekturen',
  kind: 'Bewegung',
  amount: 'Betrag',
  note: 'Notiz',
  noTransfers: 'In diesem Monat gab es keine Ein- oder Auszahlungen.',
  hash: 'SHA-256',
  open: 'Zum Drucken öffnen',
  issue: 'Monat abrechnen',
  issueAction: 'Abrechnungen ausstellen',
  monthHint: 'Ein abgelaufener Monat in UTC, zum Beispiel 2026-10',
  accountHint: 'Leer: alle mit Guthaben oder Bewegungen',
  issueMeans:
    'Die Nummern sind lückenlos, und was ausgestellt ist, ändert sich nie. Konten, die für diesen Monat eine Abrechnung haben, behalten sie.',
  issuedCount: (count, month) =>
    count === 0
      ? `Für ${month} war nichts auszustellen: Jedes Konto mit Guthaben oder Bewegungen hat seine Abrechnung.`
      : `${counted(count, 'Abrechnung', 'Abrechnungen')} für ${month} ausgestellt.`,
  verify: 'Alle prüfen',
  verified: (count) => `${counted(count, 'Abrechnung ist', 'Abrechnungen sind')} unverändert.`,
  noneOfHolder: 'Noch keine Abrechnungen. Ihr Betreiber kann sie nach dem Ende eines Monats ausstellen.',
  empty: 'Keine passenden Abrechnungen. Rechnen Sie einen abgelaufenen Monat ab.',
} satisfies Translated<typeof statements>
