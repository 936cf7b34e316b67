// What every view is given.

import type { Model } from "../data/model";
import type { Store } from "../data/store";
import type { Theme } from "../draw/theme";
import type { Matcher } from "../calc/search";

export interface ViewProps {
  model: Model;
  before: Model | null; // the other recording of a comparison
  store: Store;
  theme: Theme;
  match: Matcher;
}
