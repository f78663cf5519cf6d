(* Functions of tensors: what an entry of a softmax, an exponential, a power or an inverse means over the real numbers. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets reals sequences exp.
From Attention Require Import Rationals Expressions.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Inductive head :=
| Exp | Log | Step
| Raised of ratio        (* to a rational power *)
| Softmax of nat         (* over so many of the last indices together *)
| Inverse of nat         (* so many rows, then as many columns *)
| Unit of nat            (* 1 at this position, 0 elsewhere *)
| Split                  (* (i, h, a): 1 where i is the position of (h, a) in a matrix read row by row *)
| Arbitrary of nat.      (* a function of which nothing is known *)
Definition ratio_eq (p q : ratio) := p == q.
Definition head_eq (g h : head) : bool := match g, h with
  | Exp, Exp | Log, Log | Step, Step | Split, Split => true
  | Raised p, Raised q => p == q
  | Softmax m, Softmax n | Inverse m, Inverse n | Unit m, Unit n | Arbitrary m, Arbitrary n => m == n
  | _, _ => false end.
Lemma head_eqP g h : head_eq g h -> g = h.
Proof. by case: g h => [||| p | m | m | m || m] [||| q | n | n | n || n] //= /eqP ->. Qed.
(* the value at an index depends on the argument at that index alone *)
Definition entrywise (h : head) := match h with Exp | Log | Step | Raised _ => true | _ => false end.

(* a function of an expression, whose indices are the slots *)
Record node := Node { function : head; slots : seq index; argument : expr }.
(* what the numbers of entries stand for, each in terms of those after it; other numbers are inputs *)
Definition table := seq (nat * node).

Section Real.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.                       (* the positive scalars among the inputs *)
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.

(* ----------------------------------------------------------------------------------------------------- rational powers *)

Definition raised (x : R) (q : ratio) : R :=
  if q.2 == xH then match q.1 with
    | Z0 => 1 | Zpos p => x ^+ Pos.to_nat p | Zneg p => (x ^+ Pos.to_nat p)^-1 end
  else if 0 < x then expR (rational R q * ln x) else 0.

Lemma raised_positive x q : 0 < x -> raised x q = expR (rational R q * ln x).
Proof.
move=> x0; rewrite /raised; case: eqP => [E|_]; last by rewrite x0.
have plain p : x ^+ Pos.to_nat p = expR (natural R p * ln x).
  by rewrite /natural mulr_natl -lnX // lnK // posrE exprn_gt0.
rewrite /rational E divr1; case: (q.1) => [|p|p]; first by rewrite integer0 mul0r expR0.
  by rewrite integer_positive plain.
by rewrite integer_negative mulNr expRN plain.
Qed.
Lemma raised_gt0 x q : 0 < x -> 0 < raised x q.
Proof. by move=> x0; rewrite raised_positive // expR_gt0. Qed.
Lemma raisedD x p q : 0 < x -> raised x (plus p q) = raised x p * raised x q.
Proof. by move=> x0; rewrite !raised_positive // rationalD mulrDl expRD. Qed.
Lemma raised_zero x q : 0 < x -> is_zero q -> raised x q = 1.
Proof. by move=> x0 q0; rewrite raised_positive // rational0 // mul0r expR0. Qed.
Lemma raised_one x : raised x (1%Z, xH) = x.
Proof. exact: expr1. Qed.
Lemma raised_product x y q : 0 < x -> 0 < y -> raised (x * y) q = raised x q * raised y q.
Proof. by move=> x0 y0; rewrite !raised_positive ?mulr_gt0 // lnM // mulrDr expRD. Qed.

Definition base_value (b : base) : R := match b with inl s => (size_of s)%:R | inr n => scalar n end.
Definition power (b : base) (q : ratio) : R := raised (base_value b) q.
Lemma base_positive b : 0 < base_value b.
Proof. by case: b => [s|n] /=; rewrite ?ltr0n. Qed.
Lemma power0 b q : is_zero q -> power b q = 1.
Proof. by apply: raised_zero; exact: base_positive. Qed.
Lemma powerD b p q : power b (plus p q) = power b p * power b q.
Proof. by apply: raisedD; exact: base_positive. Qed.
Lemma power_size s : (0 < size_of s)%N -> power (inl s) (1%Z, xH) = (size_of s)%:R.
Proof. by move=> _; exact: raised_one. Qed.

(* --------------------------------------------------------------------------------------------------------- functions *)

Fixpoint within (ns xs : seq nat) : bool := match ns, xs with
  | [::], [::] => true | n :: ns', x :: xs' => (x < n)%N && within ns' xs' | _, _ => false end.
Definition cut (ns : seq nat) (f : seq nat -> R) (xs : seq nat) : R := if within ns xs then f xs else 0.
Lemma cut_eq ns f g : (forall xs, within ns xs -> f xs = g xs) -> cut ns f = cut ns g.
Proof. by move=> E; apply/funext => xs; rewrite /cut; case: ifP => // /E. Qed.
(* the sum over all indices of these sizes *)
Fixpoint total (ns : seq nat) (g : seq nat -> R) : R := match ns with
  | [::] => g [::] | n :: ns' => \sum_(0 <= x < n) total ns' (fun xs => g (x :: xs)) end.
Definition softmax (k : nat) (ns : seq nat) (f : seq nat -> R) (xs : seq nat) : R :=
  let m := (size ns - k)%N in
  expR (f xs) / total (drop m ns) (fun ys => expR (f (take m xs ++ ys))).
(* N is the inverse of f, whose first k indices are its rows *)
Definition is_inverse (k : nat) (ns : seq nat) (f N : seq nat -> R) : Prop :=
  forall xs ys, within (take k ns) xs -> within (take k ns) ys ->
    total (take k ns) (fun zs => f (xs ++ zs) * N (zs ++ ys)) = (xs == ys)%:R /\
    total (take k ns) (fun zs => N (xs ++ zs) * f (zs ++ ys)) = (xs == ys)%:R.
Definition inverse (k : nat) (ns : seq nat) (f : seq nat -> R) : seq nat -> R :=
  xget (fun=> 0) [set N | is_inverse k ns f N].

Definition apply (h : head) (ns : seq nat) (f : seq nat -> R) (xs : seq nat) : R := match h with
  | Exp => expR (f xs)
  | Log => ln (f xs)
  | Step => (0 < f xs)%R%:R
  | Raised q => raised (f xs) q
  | Softmax k => softmax k ns f xs
  | Inverse k => inverse k ns f xs
  | Unit p => (nth 0%N xs 0 == p)%:R
  | Split => (nth 0%N xs 0 == nth 0%N xs 1 * nth 0%N ns 2 + nth 0%N xs 2)%N%:R
  | Arbitrary n => arbitrary n ns f xs end.

Definition meaning := value size_of power.
Fixpoint assigned (bs : seq index) (xs : seq nat) (r : environment) : environment := match bs, xs with
  | b :: bs', x :: xs' => assigned bs' xs' (update r b x) | _, _ => r end.
Definition nowhere : environment := fun=> 0%N.
Definition lengths (bs : seq index) : seq nat := [seq size_of b.2 | b <- bs].
Definition node_value (entry : nat -> seq nat -> R) (n : node) (xs : seq nat) : R :=
  apply (function n) (lengths (slots n))
    (cut (lengths (slots n)) (fun ys => meaning entry (assigned (slots n) ys nowhere) (argument n))) xs.
(* the entries of inputs and of the functions in the table *)
Fixpoint entries_of (T : table) (input : nat -> seq nat -> R) : nat -> seq nat -> R := match T with
  | [::] => input
  | (k, n) :: T' => fun j xs => if j == k then node_value (entries_of T' input) n xs else entries_of T' input j xs end.

(* ------------------------------------------------------------------------------------ well-formed tables of functions *)

Fixpoint numbers (e : expr) : seq nat := match e with
  | Entry t _ => [:: t] | Add a b | Mul a b => numbers a ++ numbers b | Sum _ a => numbers a | _ => [::] end.
Fixpoint free (e : expr) : seq index := match e with
  | Delta i j => [:: i; j] | Entry _ vs => vs
  | Add a b | Mul a b => free a ++ free b | Sum v a => [seq w <- free a | w != v] | _ => [::] end.
Fixpoint find (T : table) (k : nat) : option node := match T with
  | [::] => None | (j, n) :: T' => if j == k then Some n else find T' k end.
Definition closed (n : node) := all (fun w => w \in slots n) (free (argument n)) && uniq (slots n).
(* each function is named once, after what it is made of *)
Fixpoint well_formed (T : table) : bool := match T with
  | [::] => true
  | (k, n) :: T' => [&& closed n, all (fun jm => (k \notin numbers (argument jm.2)) && (jm.1 != k)) T',
                        k \notin numbers (argument n) & well_formed T'] end.

Lemma meaning_entries en en' r e : (forall t, t \in numbers e -> en t =1 en' t) -> meaning en r e = meaning en' r e.
Proof.
elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r E //=.
- by apply: E; rewrite inE.
- by rewrite IHa ?IHb // => t ta; apply: E; rewrite mem_cat ta ?orbT.
- by rewrite IHa ?IHb // => t ta; apply: E; rewrite mem_cat ta ?orbT.
by apply: eq_bigr => x _; exact: IHa.
Qed.
Lemma meaning_free en r r' e : {in free e, r =1 r'} -> meaning en r e = meaning en r' e.
Proof.
elim: e r r' => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r r' E //=.
- by rewrite !E ?inE ?eqxx ?orbT.
- by congr en; apply/eq_in_map.
- by rewrite (IHa r r') ?(IHb r r') // => w wa; apply: E; rewrite /= mem_cat wa ?orbT.
- by rewrite (IHa r r') ?(IHb r r') // => w wa; apply: E; rewrite /= mem_cat wa ?orbT.
apply: eq_bigr => x _; apply: IHa => w wa; rewrite /update; case: eqP => // /eqP wv.
by apply: E; rewrite /= mem_filter wv.
Qed.
Lemma assigned_notin bs xs r w : w \notin bs -> assigned bs xs r w = r w.
Proof.
elim: bs xs r => [|b bs IH] [|x xs] r //=; rewrite inE negb_or => /andP[wb wn].
by rewrite IH // update_other.
Qed.
Lemma assigned_map bs ys r : uniq bs -> size ys = size bs -> map (assigned bs ys r) bs = ys.
Proof.
elim: bs ys r => [|b bs IH] [|y ys] r //= /andP[bn un] [sz].
by rewrite IH // assigned_notin // update_same.
Qed.
Lemma assigned_in bs r r0 w : uniq bs -> w \in bs -> assigned bs (map r bs) r0 w = r w.
Proof.
elim: bs r0 => [|b bs IH] r0 //= /andP[bn un]; rewrite inE => /orP[/eqP ->|]; last exact: IH.
by rewrite assigned_notin // update_same.
Qed.
Lemma within_size ns xs : within ns xs -> size xs = size ns.
Proof. by elim: ns xs => [|n ns IH] [|x xs] //= /andP[_ /IH ->]. Qed.
Lemma valid_within bs r : valid size_of r -> within (lengths bs) (map r bs).
Proof. by move=> rV; elim: bs => [|b bs IH] //=; rewrite rV. Qed.
Lemma assigned_valid bs xs r : valid size_of r -> within (lengths bs) xs -> valid size_of (assigned bs xs r).
Proof.
elim: bs xs r => [|b bs IH] [|x xs] r rV //= /andP[xb wx]; apply: IH => //.
exact: update_valid.
Qed.
Lemma nowhere_valid : valid size_of nowhere. Proof. by move=> v; exact: sizes_positive. Qed.

Section Table.
Variables (T : table) (input : nat -> seq nat -> R).
Hypothesis T_formed : well_formed T.
Local Notation en := (entries_of T input).
Local Notation val := (meaning en).
Local Notation true_eq := (holds size_of power en).

Lemma find_value k n : find T k = Some n -> closed n /\ forall xs, en k xs = node_value en n xs.
Proof.
move: T_formed; elim: T => [|[j m] T' IH] //= /and4P[cl fresh self wf].
have other t : t != j -> (fun xs => if t == j then node_value (entries_of T' input) m xs else entries_of T' input t xs)
    =1 entries_of T' input t by move=> /negPf -> xs.
have same p : j \notin numbers (argument p) -> node_value (entries_of T' input) p
    =1 node_value (fun t xs => if t == j then node_value (entries_of T' input) m xs else entries_of T' input t xs) p.
  move=> jp xs; rewrite /node_value; congr apply; apply: cut_eq => ys _; apply: meaning_entries => t tp ys'.
  by rewrite other //; apply: contraNneq jp => <-.
case: eqP => [<- [<-]|/eqP jk Ek]; first by split=> // xs; rewrite eqxx same.
have [cn En] := IH wf Ek; split=> // xs; rewrite eq_sym (negPf jk) En same //.
elim: (T') Ek fresh {IH wf En other same} => [|[i p] T'' IH] //=.
by case: eqP => [_ [<-] /andP[/andP[]]|_ Ek /andP[_ /(IH Ek)]].
Qed.

(* the value of a function at the indices of an environment *)
Definition argument_value (n : node) (xs : seq nat) : R := val (assigned (slots n) xs nowhere) (argument n).
Lemma argument_at n r : closed n -> valid size_of r -> argument_value n (map r (slots n)) = val r (argument n).
Proof.
move=> /andP[/allP cl un] rV; apply: meaning_free => w /cl wn; exact: assigned_in.
Qed.
Lemma entry_value k n vs r : find T k = Some n -> 
  val r (Entry k vs) = apply (function n) (lengths (slots n)) (cut (lengths (slots n)) (argument_value n)) (map r vs).
Proof. by move=> /find_value [_ E]; rewrite /meaning /= E. Qed.
End Table.
End Real.
