// German words of closed months and their archives.

import { decimalText, type Translated } from '../../../language'
import type { retention } from '../../selling/retention'
import { counted } from '../words'

export default {
  off: 'Belastungen bleiben unbegrenzt in der Datenbank. retention.charges der Konfiguration legt fest, wie lange sie bleiben, zum Beispiel 24mo.',
  on: (charges) =>
    `Belastungen bleiben ${charges.replace('mo', '')} Monate. Monate, die vollständig älter sind, werden automatisch abgeschlossen: Ihre Summen bleiben in den Büchern.`,
  place: (place) => `Archive in ${place}`,
  next: 'Würde jetzt abgeschlossen',
  last: 'Abgeschlossen',
  month: 'Monat',
  charges: 'Belastungen',
  paid: 'Bezahlt',
  waits: 'Wartet auf',
  openCharges: (count) => counted(count, 'offene Belastung', 'offene Belastungen'),
  closed: 'Abgeschlossen',
  size: 'Größe',
  bytes: (bytes) => (bytes < 1e6 ? `${decimalText(bytes / 1e3, 1)} kB` : `${decimalText(bytes / 1e6, 1)} MB`),
  archive: 'Archiv',
  nothingToClose: 'Kein Monat mit Belastungen ist vollständig älter.',
  nothingClosed: 'Kein Monat ist abgeschlossen: Alle Belastungen sind in der Datenbank.',
  close: 'Jetzt abschließen …',
  closeTitle: 'Alte Monate endgültig abschließen',
  closeMeans: (months, charges, place) =>
    `${counted(charges, 'Belastung', 'Belastungen')} aus ${counted(months, 'Monat', 'Monaten')} ${charges === 1 ? 'wandert' : 'wandern'} aus der Datenbank in Archive in ${place}. Summen, Guthaben und Abrechnungen bleiben. Einzelne Anfragen dieser Zeit sind nur noch in den Archiven.`,
} satisfies Translated<typeof retention>
