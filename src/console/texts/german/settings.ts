// German words of the page of settings.

import type { Translated } from '../../language'
import type { settings } from '../settings'
import { counted } from './words'

export default {
  title: 'Einstellungen',
  parts: {
    configuration: 'Konfiguration',
    backups: 'Sicherungen',
    retention: 'Aufbewahrung',
    admins: 'Admins',
    audit: 'Änderungsprotokoll',
  },
  changes: 'Was ein Neuladen ändern würde',
  check: 'Erneut prüfen',
  reload: 'Neu laden …',
  reloadTitle: 'Konfiguration neu laden',
  reloadMeans: (changes) =>
    `${counted(changes, 'Einstellung ändert', 'Einstellungen ändern')} sich sofort. Laufende Anfragen enden nach den alten; was einen Neustart braucht, bleibt bis dahin, wie es ist.`,
  noChanges: 'Keine ausstehenden Änderungen.',
  setting: 'Einstellung',
  before: 'Vorher',
  after: 'Nachher',
  notShown: 'nicht angezeigt',
  when: 'Wann',
  atReload: 'beim Neuladen',
  atRestart: 'beim Neustart',
  inForce: 'In Kraft',
  backup: 'Sicherung',
  made: 'Erstellt',
  makeBackup: 'Jetzt sichern',
  noBackups: 'Noch keine Sicherungen.',
  admin: 'Admin',
  role: 'Rolle',
  token: 'Token',
  expires: 'Läuft ab',
  actions: 'Aktionen',
  revoke: 'Widerrufen …',
  revokeTitle: (name) => `${name} endgültig widerrufen`,
  revokeMeans: (name) =>
    `Das Token von ${name} wird ab sofort abgelehnt, und der Name wird nicht wieder vergeben.`,
  noAdmins: 'Noch keine Admins.',
  newAdmin: 'Neuer Admin',
  name: 'Name',
  nameHint: 'Buchstaben, Ziffern, . _ und -. Wird nicht wieder vergeben',
  roles: [
    ['viewer', 'viewer: liest'],
    ['operator', 'operator: Konten, Schlüssel, Geld, Aufträge'],
    ['owner', 'owner: auch das Gateway'],
  ],
  expiresUtc: 'Läuft ab, UTC',
  expiresHint: 'Leer: in 90 Tagen',
  tokenOf: (name) => `Das Token von ${name}`,
  backToAdmins: 'Alle Admins',
  who: 'Wer',
  action: 'Aktion',
  target: 'Gegenstand',
  from: 'Von',
  noChangesYet: 'Keine Änderungen in diesem Zeitraum.',
} satisfies Translated<typeof settings>
