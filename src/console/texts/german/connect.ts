// German words for the page that connects clients.

import type { Translated } from '../../language'
import type { connect } from '../connect'

export default {
  title: 'Verbinden',
  address: 'Adresse',
  baseUrl: 'Basis-URL',
  withoutVersion: 'Für Clients, die /v1 selbst anhängen',
  client: 'Client',
  shell: 'Shell',
  model: 'Modell',
  file: (path) => `In die Datei ${path}`,
  inShell: 'In der Shell',
  secretNote: (place) =>
    `Ersetzen Sie ${place} durch Ihren eigenen Wert: Er wurde beim Anlegen angezeigt und wird nicht noch einmal angezeigt.`,
  secrets: 'Geheimnisse',
  key: 'API-Schlüssel',
  rollKey: 'Schlüssel ersetzen',
  rollConsequence: (hint) =>
    `Der Schlüssel ${hint} wird sofort abgelehnt, und Clients mit ihm scheitern, bis sie den neuen haben. Laufende Anfragen laufen weiter. Andere Browser, die mit ihm angemeldet sind, werden abgemeldet.`,
  rollWebhook: 'Webhook-Geheimnis ersetzen',
  rollWebhookConsequence:
    'Webhooks werden einen Tag lang mit beiden Geheimnissen signiert, damit Empfänger wechseln können.',
  newKey: 'Der neue Schlüssel',
  newSecret: 'Das neue Webhook-Geheimnis',
} satisfies Translated<typeof connect>
