// The console's words for the page that connects clients. A page must not have words of its own.

export const connect = {
  title: 'Connect',
  address: 'Address',
  baseUrl: 'Base URL',
  withoutVersion: 'For clients that add /v1 themselves',
  client: 'Client',
  shell: 'Shell',
  model: 'Model',
  file: (path: string) => `In the file ${path}`,
  inShell: 'In the shell',
  secretNote: (place: string) => `Replace ${place} with your own. It was shown once, when it was created.`,
  secrets: 'Secrets',
  key: 'Key',
  rollKey: 'Replace the key',
  rollConsequence: (hint: string) =>
    `The key ${hint} is refused at once, and clients that use it fail until they have the new one. Running requests continue. Other browsers that are signed in with it are signed out.`,
  rollWebhook: 'Replace the webhook secret',
  rollWebhookConsequence: 'For a day, webhooks are signed with both secrets, so that receivers can switch.',
  newKey: 'The new key',
  newSecret: 'The new webhook secret',
} as const
