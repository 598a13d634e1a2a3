// German words for the page of tasks.

import type { Translated } from '../../language'
import type { tasks } from '../tasks'

export default {
  title: 'Aufträge',
  task: 'Auftrag',
  operation: 'Art',
  model: 'Modell',
  account: 'Konto',
  upstream: 'Upstream',
  created: 'Angelegt',
  held: 'Reserviert',
  paid: 'Bezahlt',
  progress: 'Fortschritt in Prozent',
  stateFilter: [
    ['submitted', 'läuft'],
    ['unknown', 'unklar'],
    ['succeeded', 'erfolgreich'],
    ['failed', 'fehlgeschlagen'],
  ],
  webhookFilter: [
    ['pending', 'ausstehend'],
    ['delivered', 'zugestellt'],
    ['failed', 'fehlgeschlagen'],
  ],
  empty:
    'Keine passenden Aufträge. Aufträge entstehen durch Videos und durch Anfragen, die später beantwortet werden; setzen Sie die Filter zurück, um alle zu sehen.',
  polls: 'Abfragen',
  nextPoll: 'Nächste Abfrage',
  ended: 'Beendet',
  deadline: 'Frist',
  error: 'Fehler',
  cancelAnswer: 'Antwort auf den Abbruch',
  request: 'Zur Anfrage',
  document: 'Auftrag, wie Aufrufer ihn sehen',
  cancel: 'Abbrechen …',
  cancelTitle: (id) => `${id} abbrechen`,
  cancelMeans: (held) =>
    `Der Anbieter wird gebeten aufzuhören. Tut er das, werden die reservierten ${held} frei; ist er schon fertig, wird bezahlt.`,
  reconcile: 'Klären',
  reconcileMeans: (held) =>
    `Der Auftrag wurde gesendet, aber nicht beantwortet. Ob der Anbieter daran arbeitet, ist unbekannt; ${held} sind reserviert. Suchen Sie ihn beim Anbieter.`,
  found: 'Der Anbieter hat ihn: weiterverfolgen',
  upstreamId: 'Id beim Anbieter',
  notBegun: 'Der Anbieter hat ihn nicht …',
  notBegunTitle: (id) => `Reservierung von ${id} freigeben`,
  notBegunMeans: (held) =>
    `${held} werden frei, und der Auftrag schlägt fehl. Hat der Anbieter ihn doch, wird niemandem etwas berechnet.`,
  askAgain: 'Anbieter noch einmal fragen',
  webhook: 'Webhook',
  webhookLater: (url) => `Das Ende wird an ${url} gesendet.`,
  redeliver: 'Erneut zustellen',
  attempts: 'Versuche',
  noAttempts: 'Noch nicht versucht.',
  answer: 'Antwort',
  duration: 'Dauer',
  body: 'Inhalt der Antwort',
} satisfies Translated<typeof tasks>
