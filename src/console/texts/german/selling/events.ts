// German words of events that are sent to operators.

import { named, type Translated } from '../../../language'
import type { events } from '../../selling/events'

export default {
  lasting: 'Aktuelle Zustände',
  type: 'Ereignis',
  about: 'Betrifft',
  account: 'Kunde',
  since: 'Seit',
  nothingLasts: 'Derzeit liegt nichts vor. Zustände werden festgehalten, wenn die Konfiguration events hat.',
  sent: 'Gesendet',
  time: 'Zeit',
  state: 'Zustand',
  states: named({ began: 'begonnen', continues: 'dauert an', ended: 'beendet' }),
  recipient: 'Empfänger',
  delivery: 'Zustellung',
  deliveries: named({ pending: 'ausstehend', delivered: 'zugestellt', failed: 'fehlgeschlagen' }),
  attempts: 'Versuche',
  answer: 'Letzte Antwort',
  actions: 'Aktionen',
  again: 'Erneut senden',
  test: 'Test senden',
  testMeans: 'Der Empfänger erhält sofort ein Ereignis vom Typ test.',
  noRecipients:
    'Die Konfiguration hat keine Empfänger: Tragen Sie welche in events.to ein, und laden Sie sie neu.',
  none: 'Es wurden keine Ereignisse gesendet.',
  noneFound: 'Keine passenden Ereignisse. Ändern Sie die Filter, oder setzen Sie sie zurück.',
  noneAbout: 'In den letzten 30 Tagen wurden keine Ereignisse zu diesem Kunden gesendet.',
} satisfies Translated<typeof events>
