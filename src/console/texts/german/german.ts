// All German texts, of the form of the English ones. They are loaded only for those who read German.

import type { Texts } from '../../texts'
import accounts from './accounts'
import activity from './activity'
import allow from './allow'
import connect from './connect'
import explore from './explore'
import frame from './frame'
import home from './home'
import keys from './keys'
import models from './models'
import overview from './overview'
import ownModels from './own-models'
import plans from './plans'
import playground from './playground'
import requests from './requests'
import results from './results'
import retention from './retention'
import settings from './settings'
import statements from './statements'
import tasks from './tasks'
import upstreams from './upstreams'
import usage from './usage'

export const german = {
  texts: {
    ...frame,
    allow,
    overview,
    accounts,
    keys,
    explore,
    requests,
    usage,
    tasks,
    results,
    models,
    upstreams,
    settings,
  },
  sellingTexts: { plans, statements, retention },
  keyTexts: { home, activity, models: ownModels, connect, playground },
} satisfies Texts
