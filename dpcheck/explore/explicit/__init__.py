"""An explicit chain comes in; its states and rows go out as whole columns."""
