// German words for the overview.

import { numberText, type Translated } from '../../language'
import type { overview } from '../overview'
import { counted, perPeriod } from './words'

export default {
  title: 'Übersicht',
  revenue: 'Umsatz',
  cost: 'Kosten',
  margin: 'Marge',
  costUnknown: 'kein Modell hat Kosten',
  ofCosted: (usd) => `von ${usd} mit bekannten Kosten`,
  requests: 'Anfragen',
  charged: (count) => `${numberText(count)} belastet; abgelehnte kosten nichts`,
  failures: 'Fehler',
  failed: (count) => `${numberText(count)} fehlgeschlagen`,
  failedBy: (vendor, gateway, caller) =>
    [
      `${numberText(vendor)} durch Anbieter`,
      `${numberText(gateway)} durch uns`,
      `${numberText(caller)} durch Aufrufer`,
    ].join(' · '),
  errors: 'Fehler',
  firstByte: 'Erstes Byte, p50',
  held: 'Jetzt reserviert',
  openTasks: 'Offene Aufträge',
  unknownAmong: (count) => `${numberText(count)} beim Anbieter unklar`,
  period: 'Zeitraum',
  spend: 'Ausgaben',
  firstSteps: {
    title: 'Erste Schritte',
    done: 'Erledigt',
    steps: {
      upstream: {
        text: 'Einem Upstream den API-Schlüssel seines Anbieters geben',
        action: 'Variablen ansehen',
      },
      model: { text: 'Ein Modell anbieten', action: 'Angebot ansehen' },
      customer: { text: 'Einen Kunden mit Schlüssel und Guthaben anlegen', action: 'Kunden anlegen' },
      request: { text: 'Die erste Anfrage senden', action: 'Playground öffnen' },
      backup: { text: 'Eine Sicherung anlegen', action: 'Zu den Sicherungen' },
    },
    fill: '30 Tage Betrieb simulieren',
    fillMeans:
      'Legt drei Kunden mit etwa 1.300 simulierten, abgerechneten Anfragen an. Dauert bis zu 3 Minuten.',
  },
  p99: (duration) => `p99 ${duration}`,
  noAnswers: 'keine Antworten',
  holds: (count) => counted(count, 'Reservierung', 'Reservierungen'),
  previous: (period) => `Zeitraum davor (${period})`,
  aYearBefore: 'Vorjahr',
  change: (percent, period) => `${percent} % zum ${period}`,
  nothingBefore: (period) => `${period}: nichts`,
  spanUnit: (milliseconds) => (milliseconds >= 86_400_000 ? 'Tag (UTC)' : 'Stunde'),
  spendChart: (unit) => `Ausgaben pro ${unit} und Modell, in Dollar`,
  requestsChart: (unit) => `Anfragen pro ${unit}`,
  speedChart: (unit) => `Zeit bis zum ersten Byte und insgesamt, pro ${unit}`,
  answered: 'beantwortet',
  failedSeries: 'fehlgeschlagen',
  firstByteP50: 'erstes Byte p50',
  firstByteP99: 'erstes Byte p99',
  durationP50: 'Gesamtdauer p50',
  attention: 'Handlungsbedarf',
  allWell: 'Nichts zu tun.',
  unknownTasks: (count) =>
    count === 1
      ? '1 Auftrag ist beim Anbieter unklar: Klären Sie ihn'
      : `${numberText(count)} Aufträge sind bei den Anbietern unklar: Klären Sie sie`,
  down: (upstream) => `${upstream} antwortet nicht und erhält vorerst keine Anfragen`,
  low: (account, available, hours) =>
    `${account} hat noch ${available}${hours === null ? '' : ` (reicht bei diesem Verbrauch ${hoursText(hours)})`}`,
  lowRate: 'Verbrauch: Ausgaben der letzten Stunde',
  atLimit: (key, percent, period) =>
    `Schlüssel ${key} hat ${numberText(percent)} % seines Budgets ${perPeriod(period)} verbraucht`,
  accountAtLimit: (account, percent, period) =>
    `${account} hat ${numberText(percent)} % seines Budgets ${perPeriod(period)} verbraucht`,
  planAtLimit: (account, percent, plan, period) =>
    `${account} hat ${numberText(percent)} % des Budgets ${perPeriod(period)} aus Tarif ${plan} verbraucht`,
  failedWebhooks: (count) => `${counted(count, 'Webhook-Zustellung', 'Webhook-Zustellungen')} fehlgeschlagen`,
  loss: (model, lost) => `${model} macht Verlust: ${lost} in diesem Zeitraum`,
  spike: (key, hour, median) =>
    `Schlüssel ${key} hat in der letzten Stunde ${hour} ausgegeben; üblich sind ${median}`,
  expiring: (key, when) => `Schlüssel ${key} läuft ab: ${when}`,
  lostLogRows: (count) =>
    `${counted(count, 'Zeile', 'Zeilen')} des Anfrageprotokolls verloren: Der Datenträger ist voll oder zu langsam`,
  pauseKey: 'Pausieren',
  topUp: 'Aufladen',
  reconcile: 'Klären',
  check: 'Prüfen',
  changeLimit: 'Grenze ändern',
  changePrice: 'Preis ansehen',
  extend: 'Um 30 Tage verlängern',
  seeModel: 'Modell ansehen',
  seeWebhooks: 'Erneut senden',
  ending: (model, day, hasEnded, successor) =>
    `${model} ${hasEnded ? 'endete' : 'endet'} beim Anbieter am ${day}${successor === null ? '' : `; Nachfolger: ${successor}`}`,
} satisfies Translated<typeof overview>

/** Hours as people say them, rounded down. */
function hoursText(hours: number): string {
  if (hours < 1) return `${Math.floor(hours * 60)} min`
  if (hours < 48) return `${Math.floor(hours)} h`
  return `${numberText(Math.floor(hours / 24))} Tage`
}
