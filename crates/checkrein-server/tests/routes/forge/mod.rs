mod hook;
