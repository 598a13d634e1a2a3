// German words for a key holder's first page.

import { named, type Translated } from '../../language'
import type { home } from '../home'

const states = named({
  paused: 'pausiert',
  revoked: 'widerrufen',
  expired: 'abgelaufen',
  frozen: 'gesperrt',
  closed: 'geschlossen',
})

export default {
  title: 'Start',
  available: 'Verfügbar',
  held: 'Jetzt reserviert',
  today: 'Heute ausgegeben',
  month: 'In diesem Monat ausgegeben',
  low: (available, lasts) =>
    `Das Guthaben ist niedrig: ${available} sind verfügbar${lasts === null ? '' : ` und reichen noch ${lasts}, gemessen an den letzten sieben Tagen`}.`,
  lowAdvice:
    'Laden Sie mit einem Code auf, oder fragen Sie Ihren Betreiber. Anfragen, die das Guthaben übersteigen, werden abgelehnt.',
  budget: 'Budget dieses Schlüssels',
  accountBudget: 'Budget des Kontos',
  allowance: 'Rest des Kontingents',
  notActive: (state) =>
    `Dieser Schlüssel ist ${states[state] ?? state}: Er wird abgelehnt, bis sich das ändert.`,
  heldTitle: 'Was reserviert ist, und warum',
  heldWhy:
    'Solange eine Anfrage läuft, ist der Betrag reserviert, den sie höchstens kosten kann. Was sie nicht braucht, wird am Ende frei.',
  heldByOthers: 'Für andere Schlüssel dieses Kontos reserviert',
  nothingHeld: 'Für diesen Schlüssel ist nichts reserviert.',
  operation: 'Art',
  model: 'Modell',
  since: 'Seit',
  amount: 'Betrag',
  noSpend:
    'Keine Anfragen in diesem Zeitraum. Senden Sie eine im Playground, oder verbinden Sie einen Client.',
  topUp: 'Mit einem Code aufladen',
  code: 'Code',
  codeHint: 'Fünf Gruppen mit je fünf Zeichen, zum Beispiel AAAAA-BBBBB-…',
  redeem: 'Einlösen',
  redeemed: (amount, available) => `${amount} gutgeschrieben. Verfügbar sind jetzt ${available}.`,
} satisfies Translated<typeof home>
