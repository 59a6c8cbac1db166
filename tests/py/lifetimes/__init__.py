"""Programs that see when objects die, what answers after that, and what is looked up of them."""
